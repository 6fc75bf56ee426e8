/** From one version to another by the conversions there are: the fewest of them, and the first registered among equals. Pure. */
import type { Handler } from '../../core/handling/handler.ts'

/** Empty where there is nothing to convert; undefined where there is no way. */
export function findRoute(handlers: readonly Handler[], from: string, to: string): readonly Handler[] | undefined {
  const routes = new Map<string, readonly Handler[]>([[from, []]])
  // What is found on the way is looked at in its turn: maps are walked to their end, wherever that is by then.
  for (const [version, route] of routes) {
    if (version === to) return route
    for (const handler of handlers) {
      const { conversion } = handler
      if (conversion?.from === version && !routes.has(conversion.to)) routes.set(conversion.to, [...route, handler])
    }
  }
  return undefined
}
