import { ABSENT, any, none, Operator } from 'kopf'

const kopf = new Operator()

kopf.on.create('kopfexamples', { id: 'production', labels: { tier: 'production' } }, ({ logger }) => {
  logger.info('In production')
})

/** Combinators work for callbacks of labels, annotations and fields. */
const isData = any<[string | undefined]>(
  (team) => team === 'data',
  (team) => team?.startsWith('data-'),
)
kopf.on.create('kopfexamples', { id: 'data', labels: { team: isData } }, ({ logger }) => logger.info('Of a data team'))

/** `value` selects by the value of the field: a literal, PRESENT, ABSENT or a callback. */
kopf.on.create(
  'kopfexamples',
  {
    id: 'large',
    field: 'spec.size',
    value: (size) => Number(size) >= 10,
    when: none(
      ({ annotations }) => 'example.com/paused' in annotations,
      ({ labels }) => labels['tier'] === 'test',
    ),
  },
  ({ logger }) => logger.info('Large, and not paused'),
)

kopf.on.create(
  'kopfexamples',
  { id: 'unowned', labels: { team: ABSENT }, annotations: { 'example.com/paused': ABSENT } },
  ({ logger }) => logger.info('Has no team'),
)

/** Called when the size grows beyond the limit, not for later changes above the limit. */
kopf.on.update(
  'kopfexamples',
  { id: 'grown', field: 'spec.size', old: (size) => Number(size) < 10, new: (size) => Number(size) >= 10 },
  ({ logger }) => logger.info('Has grown large'),
)

export default kopf
