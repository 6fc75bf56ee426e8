/** An aggregated API without a running server (F26), on a real API server: other resources are served. */
import { EVERYTHING, Operator } from 'kopf'
import { expect, test } from 'vitest'
import { useLab } from '../support/lab.ts'

const lab = useLab()
const services = '/apis/apiregistration.k8s.io/v1/apiservices'

test('an operator for all resources serves the others when one aggregated API is broken, and logs it once', async () => {
  const group = `down.${lab.group}`
  const name = `v1.${group}`
  const service = { name: 'nobody', namespace: lab.namespace }
  const spec = {
    group,
    version: 'v1',
    service,
    insecureSkipTLSVerify: true,
    groupPriorityMinimum: 1000,
    versionPriority: 15,
  }
  await lab.call('POST', services, { metadata: { name }, spec })
  await lab.until(async () => {
    const { body } = await lab.call('GET', `${services}/${name}`)
    return body.status?.['conditions']?.some(({ status }: { status: string }) => status === 'False') === true
  })
  const seen: string[] = []
  const kopf = new Operator()
  kopf.on.create([lab.group, EVERYTHING], ({ name }) => void seen.push(name))
  kopf.on.event([group, EVERYTHING], () => {})
  await lab.start(kopf)
  await lab.create('unharmed')
  await lab.until(() => seen.includes('unharmed'))
  await lab.elapse(3)
  const named = lab.logs.filter((line) => line.includes(`The API ${group}/v1 does not say what it serves`))
  await lab.call('DELETE', `${services}/${name}`)
  expect(named).toHaveLength(1)
})
