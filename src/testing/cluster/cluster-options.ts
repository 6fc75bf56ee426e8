/** What the methods of a test cluster take. Types only. */
import type { SelectorText } from '../../client/client-options.ts'
import type { Body, Meta } from '../../handlers/args/args.ts'
import type { Duration } from '../../util/text/duration.ts'
import type { WaitOptions } from '../waiting/wait-for.ts'

/** An object to be created, in few words; the rest is known from the resource. */
export type NewObject<T> = Partial<Body<Omit<T, 'apiVersion' | 'kind' | 'metadata'>>> & {
  readonly name?: string
  /** That of the cluster unless told. */
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  /** Whatever else is to be in it. */
  readonly metadata?: Meta
}

interface Where {
  /** That of the cluster unless told. */
  readonly namespace?: string
}

/** How long `until` and `untilGone` wait, and where the object is. */
export interface UntilOptions extends WaitOptions, Where {}

/** Which objects a wait for a list is about. */
export interface ListSelection {
  /** Default: the namespace of the cluster; `null` is for all namespaces. */
  readonly namespace?: string | null
  /** `'app=web,tier!=db'`, or `{ app: 'web' }` where equality is enough. Default: all objects. */
  readonly labelSelector?: SelectorText
}

/** When a cluster counts as quiet. */
export interface SettledOptions extends WaitOptions {
  /** By the clock of the cluster. Default: 5 minutes; with `clock: 'real'` and on a real cluster as for `until`. */
  readonly timeout?: Duration
  /** How long nothing must have happened, by the clock of the cluster. Default: 5 seconds. */
  readonly quiet?: Duration
}
