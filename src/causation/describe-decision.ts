/** Describes a decision in words, for `kopf explain` and the journal. Pure. */
import type { Decision } from './decide.ts'

/** The decision with its reason, as the end of a sentence: `add the finalizer, since a handler needs it`. */
export function describeDecision(decision: Decision): string {
  switch (decision.type) {
    case 'add-finalizer':
      return 'add the finalizer, since a handler needs it'
    case 'remove-finalizer':
      return decision.reason === 'finished'
        ? 'remove the finalizer, since no handler needs the object any more'
        : 'remove the finalizer, since no handler needs it'
    case 'wait':
      return 'wait, since the object changes all the time'
    case 'handle':
      return decision.reason === 'noop'
        ? 'call only handlers that have not finished with earlier changes'
        : `call the handlers that are due for ${decision.reason}`
    case 'ignore':
      return ignored[decision.reason]
  }
}

const ignored: Readonly<Record<'no-handlers' | 'paused' | 'released', string>> = {
  'no-handlers': 'call no change handler, since none can match the object',
  paused: 'nothing, since the operator is paused',
  released: 'nothing, since the object is being deleted without the finalizer of this operator',
}
