import { ABSENT, any, defineResource, none, Operator } from 'kopf'
import { z } from 'zod'

const spec = z.object({ size: z.int() })
const Dataset = defineResource({ group: 'example.com', version: 'v1', kind: 'Dataset', spec })

const kopf = new Operator()

kopf.on.create(Dataset, { id: 'production', labels: { tier: 'production' } }, ({ logger }) => {
  logger.info('In production')
})

/** Combinators work for callbacks of labels, annotations and fields. */
const isData = any<[string | undefined]>(
  (team) => team === 'data',
  (team) => team?.startsWith('data-'),
)
kopf.on.create(Dataset, { id: 'data', labels: { team: isData } }, ({ logger }) => logger.info('Of a data team'))

const isLarge = (size = 0) => size >= 10

/** `value` selects by the value of the field: a literal, PRESENT, ABSENT or a callback. */
kopf.on.create(
  Dataset,
  {
    id: 'large',
    field: 'spec.size',
    value: isLarge,
    when: none(
      ({ annotations }) => 'example.com/paused' in annotations,
      ({ labels }) => labels['tier'] === 'test',
    ),
  },
  ({ logger }) => logger.info('Large, and not paused'),
)

kopf.on.create(
  Dataset,
  { id: 'unowned', labels: { team: ABSENT }, annotations: { 'example.com/paused': ABSENT } },
  ({ logger }) => logger.info('Has no team'),
)

/** Called when the size grows beyond the limit, not for later changes above the limit. */
kopf.on.update(Dataset, { id: 'grown', field: 'spec.size', old: none(isLarge), new: isLarge }, ({ logger }) => {
  logger.info('Has grown large')
})

export default kopf
