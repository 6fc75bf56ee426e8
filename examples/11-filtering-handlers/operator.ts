import { ABSENT, all, not, Operator } from 'kopf'

const kopf = new Operator()

kopf.on.create('kopfexamples', { id: 'production', labels: { tier: 'production' } }, ({ logger }) => {
  logger.info('In production')
})

kopf.on.create(
  'kopfexamples',
  { id: 'data', labels: { team: (team) => team?.startsWith('data-') ?? false } },
  ({ logger }) => logger.info('Of a data team'),
)

kopf.on.create(
  'kopfexamples',
  {
    id: 'large',
    when: all(
      ({ spec }) => spec.size >= 10,
      not(({ annotations }) => 'example.com/paused' in annotations),
    ),
  },
  ({ logger }) => logger.info('Large, and not paused'),
)

kopf.on.create(
  'kopfexamples',
  { id: 'unowned', labels: { team: ABSENT }, annotations: { 'example.com/paused': ABSENT } },
  ({ logger }) => logger.info('Has no team'),
)

/** Only when it grows beyond the limit, not while it stays there. */
kopf.on.update(
  'kopfexamples',
  { id: 'grown', field: 'spec.size', old: (size) => Number(size) < 10, new: (size) => Number(size) >= 10 },
  ({ logger }) => logger.info('Has grown large'),
)

export default kopf
