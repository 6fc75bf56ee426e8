/**
 * Implements `cluster.until` and `cluster.untilGone`. A wait examines every state of its object or list in order; the states come
 * from the watches of cluster-history.ts. Called by cluster.ts.
 */
import { toSelectionQuery } from '../../client/client-impl.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { ResourceLike } from '../../kube/resources/resources.ts'
import { parseLabelSelector } from '../../server/selectors.ts'
import { cloneJson } from '../../util/json/deep-equal.ts'
import { toWhole } from '../../util/json/lazy-json.ts'
import type { ClusterBackend } from '../cluster/backend.ts'
import type { ListSelection, UntilOptions } from '../cluster/cluster-options.ts'
import { ClusterHistory } from './cluster-history.ts'
import { describeExpectation, describeMismatches, type Expectation, isExpected } from './expectations.ts'
import { StateTrail } from './failure-messages.ts'
import { type WaitOptions, waitFor } from './wait-for.ts'
import { Watchpoint } from './watchpoint.ts'

export interface ClusterWaitsOptions {
  /** The resource version at which the test began. */
  readonly startVersion: string
  readonly describeLogs: () => string
}

export class ClusterWaits {
  readonly #backend: ClusterBackend
  readonly #history: ClusterHistory
  readonly #describeLogs: () => string

  constructor(backend: ClusterBackend, { startVersion, describeLogs }: ClusterWaitsOptions) {
    this.#backend = backend
    this.#history = new ClusterHistory(backend, startVersion)
    this.#describeLogs = describeLogs
  }

  close(): Promise<void> {
    return this.#history.close()
  }

  async forObject(
    like: ResourceLike,
    name: string,
    expectation: Expectation<KubeObject>,
    options: UntilOptions,
  ): Promise<KubeObject> {
    const watchpoint = this.#watchObject(like, name, options)
    const trail = new StateTrail()
    let last: KubeObject | undefined
    // If there is no new state, the last one is checked again: an expectation function may depend on more than the object.
    const isFound = (object: KubeObject | undefined) => object !== undefined && isExpected(object, expectation)
    return await waitFor(this.#backend, options, {
      check: async () => {
        const replay = await watchpoint.replay()
        let state = replay?.next()
        if (state === undefined) return isFound(last) ? watchpoint.recordFound(last!) : undefined
        for (; state !== undefined; state = replay?.next()) {
          last = onlyOf(state.objects)
          trail.add(last)
          if (isFound(last)) return watchpoint.recordFound(last!)
        }
        return undefined
      },
      describeProblem: () =>
        [
          `"${name}" has not reached the expected state: ${describeExpectation(expectation)}`,
          ...(last === undefined ? [] : describeMismatches(last, expectation)),
          trail.describe(name),
          ...watchpoint.problems(),
          this.#describeLogs(),
        ].join('\n'),
    })
  }

  async forAbsence(like: ResourceLike, name: string, options: UntilOptions): Promise<void> {
    const watchpoint = this.#watchObject(like, name, options)
    const trail = new StateTrail()
    await waitFor(this.#backend, options, {
      check: async () => {
        const replay = await watchpoint.replay()
        if (replay === undefined) return watchpoint.isUnserved() || undefined
        let isAbsent = trail.last === undefined
        for (let state = replay.next(); state !== undefined; state = replay.next()) {
          if (state.deleted.length > 0) return watchpoint.recordDeleted(state.version)
          isAbsent = state.objects.size === 0
          trail.add(onlyOf(state.objects))
        }
        return (isAbsent && (await watchpoint.isAbsentNow())) || undefined
      },
      describeProblem: () =>
        [`"${name}" still exists:`, trail.describe(name), ...watchpoint.problems(), this.#describeLogs()].join('\n'),
    })
  }

  async forList(
    like: ResourceLike,
    selection: ListSelection,
    predicate: (objects: KubeObject[]) => unknown,
    options: UntilOptions,
  ): Promise<KubeObject[]> {
    const watchpoint = this.#watchList(like, selection)
    const trail = new StateTrail()
    let last: KubeObject[] | undefined
    return await waitFor(this.#backend, options, {
      check: async () => {
        const replay = await watchpoint.replay()
        let state = replay?.next()
        if (state === undefined) return last !== undefined && predicate(last) ? last : undefined
        for (; state !== undefined; state = replay?.next()) {
          last = sorted(state.objects).map(copyOf)
          trail.addList(last)
          if (predicate(last)) return watchpoint.recordList(last, state.version)
        }
        return undefined
      },
      describeProblem: () =>
        [
          `the list has not reached the expected state: ${predicate}`,
          ...trail.changes(),
          `It has ${describeNames(last ?? [])}`,
          ...watchpoint.problems(),
          this.#describeLogs(),
        ].join('\n'),
    })
  }

  /** Unlike the other waits, a condition sees only the present state. */
  async forCondition(condition: () => unknown, options: WaitOptions): Promise<unknown> {
    return await waitFor(this.#backend, options, {
      check: async () => (await condition()) || undefined,
      describeProblem: () => `the condition has not become true: ${condition}\n${this.#describeLogs()}`,
    })
  }

  #watchObject(like: ResourceLike, name: string, { namespace = this.#backend.namespace }: UntilOptions): Watchpoint {
    return new Watchpoint(this.#backend, this.#history, { like, namespace, name, labels: undefined })
  }

  #watchList(like: ResourceLike, { namespace = this.#backend.namespace, labelSelector }: ListSelection): Watchpoint {
    const text = String(toSelectionQuery({ labelSelector })['labelSelector'] ?? '')
    const labels = parseLabelSelector(text)
    return new Watchpoint(this.#backend, this.#history, {
      like,
      namespace: namespace ?? undefined,
      name: undefined,
      labels,
    })
  }
}

/** Copies an object for the test: objects of watches are shared and may be frozen. */
function copyOf(object: KubeObject): KubeObject {
  return cloneJson(toWhole(object))
}

function onlyOf(objects: ReadonlyMap<string, KubeObject>): KubeObject | undefined {
  const [object] = objects.values()
  return object && copyOf(object)
}

/** Sorts by namespace and name, as the API does. */
function sorted(objects: ReadonlyMap<string, KubeObject>): KubeObject[] {
  return [...objects].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, object]) => object)
}

const maxNames = 20

function describeNames(objects: readonly KubeObject[]): string {
  const names = objects.slice(0, maxNames).map(({ metadata }) => `"${metadata.name}"`)
  const rest = objects.length > maxNames ? `, … ${objects.length - maxNames} more` : ''
  return objects.length === 0 ? 'no objects' : `${objects.length} objects: ${names.join(', ')}${rest}`
}
