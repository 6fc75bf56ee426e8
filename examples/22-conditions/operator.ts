import { type Args, Operator } from 'kopf'

const kopf = new Operator()

/** An unchanged condition is not written again. `lastTransitionTime` changes only with the status of the condition. */
function checkSize({ spec, conditions }: Args<'create', 'kopfexamples'>): void {
  if (spec.size > 10) conditions.set('Ready', false, 'TooLarge', `${spec.size} do not fit`)
  else conditions.set('Ready', true, 'Running', `${spec.size} of ${spec.size} are up`)
}

kopf.on.create('kopfexamples', { id: 'checkSize' }, checkSize)
kopf.on.update('kopfexamples', { id: 'checkSize' }, checkSize)

export default kopf
