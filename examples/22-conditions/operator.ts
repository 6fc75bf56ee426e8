import { type Args, defineResource, Operator } from 'kopf'
import { z } from 'zod'

const Pool = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Pool',
  spec: z.object({ size: z.int() }),
  // Conditions need the status subresource: otherwise they change `metadata.generation`, and `kubectl wait` takes them for outdated.
  status: z.object({}),
})

const kopf = new Operator()

/** An unchanged condition is not written again. `lastTransitionTime` changes only with the status of the condition. */
function checkSize({ spec, conditions }: Args<'create', typeof Pool>): void {
  if (spec.size > 10) conditions.set('Ready', false, 'TooLarge', `${spec.size} do not fit`)
  else conditions.set('Ready', true, 'Running', `${spec.size} of ${spec.size} are up`)
}

kopf.on.create(Pool, { id: 'checkSize' }, checkSize)
kopf.on.update(Pool, { id: 'checkSize' }, checkSize)

export default kopf
