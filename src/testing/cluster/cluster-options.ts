/** Option types of the methods of a test cluster. */
import type { SelectorText } from '../../client/client-options.ts'
import type { Body, Meta } from '../../handlers/args/args.ts'
import type { Duration } from '../../util/text/duration.ts'
import type { WaitOptions } from '../waiting/wait-for.ts'

/**
 * An object to create with `cluster.create`, in short form: `name`, `namespace`, `labels` and `annotations` stand beside `spec`;
 * `apiVersion` and `kind` come from the resource.
 *
 * @example
 * ```ts
 * await cluster.create('configmaps', { name: 'settings', labels: { app: 'web' }, data: { color: 'blue' } })
 * ```
 */
export type NewObject<T> = Partial<Body<Omit<T, 'apiVersion' | 'kind' | 'metadata'>>> & {
  readonly name?: string
  /** Default: the namespace of the cluster. */
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  /** Other metadata, such as `finalizers` or `generateName`. */
  readonly metadata?: Meta
}

/** Options of `until` and `untilGone`: time limits, and the namespace of the object. */
export interface UntilOptions extends WaitOptions {
  /** Default: the namespace of the cluster. */
  readonly namespace?: string
}

/** The objects of a list that `until` waits for. */
export interface ListSelection {
  /** Default: the namespace of the cluster. `null` selects all namespaces. */
  readonly namespace?: string | null
  /** A label selector: `'app=web,tier!=db'`, or `{ app: 'web' }` for equality. Default: all objects. */
  readonly labelSelector?: SelectorText
}

/** Options of `settled`: how long the cluster must be quiet, and time limits. */
export interface SettledOptions extends WaitOptions {
  /** Limit in cluster time. Default: 5 minutes; with `clock: 'real'` and on a real cluster the default of `until`. */
  readonly timeout?: Duration
  /** The cluster time for which nothing must happen. Default: 5 seconds. */
  readonly quiet?: Duration
}
