/** What the methods of a test cluster take. Types only. */
import type { Body, Meta } from '../core/handling/args.ts'
import type { Duration } from '../util/duration.ts'
import type { WaitOptions } from './waiting.ts'

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

export interface Where {
  /** That of the cluster unless told. */
  readonly namespace?: string
}

/** When a cluster counts as quiet. */
export interface SettledOptions extends WaitOptions {
  /** How long nothing must have happened, by the clock of the cluster. Default: 5 seconds. */
  readonly quiet?: Duration
}
