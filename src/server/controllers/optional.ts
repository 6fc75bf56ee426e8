/** The controllers that a test may want and a server has not by default. Nothing of them is loaded unless they are asked for. */
import type { Parts } from '../call.ts'
import { type ControllerChoice, chooseControllers } from './life/names.ts'
import type { LifeOptions } from './life/start.ts'

export interface OptionalControllers {
  /**
   * Those that bring deployments, jobs, pods and the like to life, each with those it needs. `all` of them; with a minus before
   * its name, one is left out. Default: none.
   */
  readonly controllers?: 'all' | readonly ControllerChoice[]
  /** The authority, in PEM, that the controller of service accounts shows in `kube-root-ca.crt`. Default: an empty text. */
  readonly ca?: string
}

/** Resolves when they run; undefined where there are none. */
export function startOptional(
  parts: Parts,
  { controllers = [], ca = '' }: OptionalControllers,
): Promise<void> | undefined {
  const chosen = chooseControllers(controllers)
  return chosen.size === 0 ? undefined : start(parts, { chosen, ca })
}

async function start(parts: Parts, options: LifeOptions): Promise<void> {
  const { startLife } = await import('./life/start.ts')
  if (!parts.closing.aborted) startLife(parts, options)
}
