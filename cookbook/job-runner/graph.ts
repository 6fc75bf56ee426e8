/** The graph of tasks: checks it, and sorts it so that each task comes after its dependencies. Takes time linear in tasks and dependencies. */

interface Node {
  readonly name: string
  readonly dependsOn: readonly string[]
}

export type Graph<T extends Node> =
  | { readonly type: 'sorted'; readonly tasks: readonly T[] }
  | { readonly type: 'unknown'; readonly task: string; readonly dependency: string }
  | { readonly type: 'cycle'; readonly names: readonly string[] }

/**
 * Kahn's algorithm: a task whose dependencies are all sorted is appended, and counts for the tasks that depend on it. Tasks that are left over are in
 * a cycle, or depend on one.
 */
export function sortTasks<T extends Node>(tasks: readonly T[]): Graph<T> {
  const byName = new Map(tasks.map((task) => [task.name, task]))
  const dependents = new Map<string, T[]>(tasks.map(({ name }) => [name, []]))
  for (const task of tasks) {
    for (const dependency of task.dependsOn) {
      const list = dependents.get(dependency)
      if (list === undefined) return { type: 'unknown', task: task.name, dependency }
      list.push(task)
    }
  }
  const missing = new Map(tasks.map(({ name, dependsOn }) => [name, dependsOn.length]))
  const sorted = tasks.filter(({ dependsOn }) => dependsOn.length === 0)
  // The list grows while it is iterated.
  for (const { name } of sorted) {
    for (const dependent of dependents.get(name) ?? []) {
      const left = (missing.get(dependent.name) ?? 0) - 1
      missing.set(dependent.name, left)
      if (left === 0) sorted.push(dependent)
    }
  }
  if (sorted.length === tasks.length) return { type: 'sorted', tasks: sorted }
  return { type: 'cycle', names: findCycle(byName, missing) }
}

/** Every task that is left over has a dependency that is left over, so this walk comes back to a task that it has seen. */
function findCycle(byName: ReadonlyMap<string, Node>, missing: ReadonlyMap<string, number>): string[] {
  const isLeft = (name: string) => (missing.get(name) ?? 0) > 0
  const path = new Map<string, number>()
  let name = [...byName.keys()].find(isLeft)
  while (name !== undefined && !path.has(name)) {
    path.set(name, path.size)
    name = byName.get(name)?.dependsOn.find(isLeft)
  }
  const names = [...path.keys()]
  return name === undefined ? names : [...names.slice(path.get(name)), name]
}
