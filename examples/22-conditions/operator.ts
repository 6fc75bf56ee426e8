import { type Args, Operator } from 'kopf'

const kopf = new Operator()

/** What is said already is not written again; the time of transition is that of the status, not of the words. */
function judge({ spec, conditions }: Args<'create', 'kopfexamples'>): void {
  if (spec.size > 10) conditions.set('Ready', false, 'TooLarge', `${spec.size} do not fit`)
  else conditions.set('Ready', true, 'Running', `${spec.size} of ${spec.size} are up`)
}

kopf.on.create('kopfexamples', { id: 'judge' }, judge)
kopf.on.update('kopfexamples', { id: 'judge' }, judge)

export default kopf
