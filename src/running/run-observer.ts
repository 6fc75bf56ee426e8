/** What can be seen of a run from outside: by those who show it to people, count it, or test it. Types only. */
import type { Resource } from '../kube/resources.ts'

/** What came of the first look at an object that was there already. */
export type ObjectOutcome =
  /** Its handlers were called, and have succeeded. */
  | 'created'
  | 'updated'
  | 'resumed'
  | 'deleted'
  | 'reconciled'
  /** One of them has failed for good. */
  | 'failed'
  /** One of them is to be called again, or the object could not be handled at all, which is tried again. */
  | 'retrying'
  /** It is as it was handled before. */
  | 'unchanged'
  /** Only handlers of events, daemons and timers are for it. */
  | 'watched'
  /** No handler is for it. */
  | 'skipped'
  /** It is gone, or the operator stands back: nothing came of it. */
  | 'left'

/** Told of a run as it happens, in the middle of the work: it must be quick, and must not throw. */
export interface RunObserver {
  /** The operator has found its way to the cluster; without an address where it was given a transport. */
  connected(server: string | undefined): void
  /** Objects of this resource are watched from now on, for handlers of these kinds: as many words as handlers. */
  served(resource: Resource, kinds: readonly string[]): void
  /** The objects that are there have been listed, in one more namespace or in all: so many are known now. */
  listed(resource: Resource, objects: number): void
  /** An object was there already: it waits to be looked at. */
  found(resource: Resource): void
  /** No handler is called for an object, since its JSON is larger than `watching.maxObjectBytes`. Once, until it is smaller. */
  tooLarge?(
    resource: Resource,
    object: { readonly name: string; readonly namespace: string | undefined; readonly bytes: number },
  ): void
  /** It has been looked at: each that was found, once. */
  settled(resource: Resource, outcome: ObjectOutcome): void
}
