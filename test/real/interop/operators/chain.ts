/** The same operator as chain.py: handlers that read the changes of earlier handlers. */
import { Operator, PermanentError, TemporaryError } from 'kopf'

const widgets = [process.env['GROUP'] as string, 'v1', 'widgets'] as const

const kopf: Operator = new Operator()
export default kopf

function waitFor(fields: object, key: string): void {
  if (!(key in fields)) throw new TemporaryError(`${key} is not there yet`, { delay: 3600 })
}

kopf.on.create(widgets, { id: 'network' }, ({ patch }) => {
  patch.status['network'] = '10.0.0.0/8'
  patch.metadata.labels['tier'] = 'gold'
})

kopf.on.create(widgets, { id: 'never', when: ({ status }) => !('network' in status) }, () => 'called')

kopf.on.create(widgets, { id: 'gold', labels: { tier: 'gold' } }, () => 'called')

kopf.on.create(widgets, { id: 'disks' }, ({ status, labels, retry }) => {
  waitFor(status, 'network')
  return { tier: labels['tier'], retry }
})

kopf.on.create(widgets, { id: 'quota' }, () => {
  throw new PermanentError('no quota')
})

kopf.on.create(widgets, { id: 'users' }, ({ status, annotations, retry }) => {
  waitFor(status, 'disks')
  const { failure } = JSON.parse(annotations['kopf.zalando.org/quota'] as string) as { failure: boolean }
  return { disks: (status['disks'] as { tier: string }).tier, failure, retry }
})

kopf.on.create(widgets, { id: 'family' }, async ({ patch, execute }) => {
  patch.status['phase'] = 'Starting'
  await execute({
    first: () => 'of the first',
    second: ({ status, retry, patch: own }) => {
      waitFor(status, 'family/first')
      own.status['phase'] = 'Ready'
      return { seen: status['family/first'], retry }
    },
  })
})
