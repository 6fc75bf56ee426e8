/** Throws the error that `spec.kind` names, of the classes that the thread has loaded. */
import { KopfError, PermanentError, TemporaryError, type WorkerArgs } from 'kopf'

class Impatient extends TemporaryError {}

const makers: Readonly<Record<string, () => unknown>> = {
  temporary: () => new TemporaryError('later', { delay: 0.2 }),
  derived: () => new Impatient('soon', { delay: 0 }),
  permanent: () => new PermanentError('never'),
  kopf: () => new KopfError('KOPF_MINE', 'mine', { cause: new TypeError('the cause') }),
  range: () => new RangeError('too far'),
  text: () => 'just text',
}

export default function fail({ spec, patch, retry }: WorkerArgs<'create', 'widgets'>): string {
  patch.status['tried'] = retry
  if (retry === 0) throw makers[spec['kind']]!()
  return 'done'
}
