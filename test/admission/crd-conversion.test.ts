/** The conversion stanza of CRDs: patched by the operator at its start, and left in place when it ends. */
import type { Operator } from 'kopf'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { CertificateAuthority } from '../../src/util/certificates.ts'
import { isDeepEqual } from '../../src/util/json/deep-equal.ts'
import { anything, crd, crdsPath } from '../support/crds.ts'
import { settle } from '../support/handled.ts'
import { useLab } from '../support/lab.ts'
import { Desk, forbid, type Loose, mergePatch, tellings, useManaged } from './managed-webhooks.ts'

const lab = useLab()
const managed = useManaged(lab)
const url = 'https://127.0.0.1:1/hooks'
const name = `gears.${lab.group}`
const path = `${crdsPath}/${name}`
const patch = `PATCH customresourcedefinitions/${name}`

/** A valid certificate: the API server parses the CA bundle of a CRD. */
const bundle = async () => Buffer.from((await CertificateAuthority.create('test')).caPem).toString('base64')
let caBundle: string
beforeAll(async () => {
  caBundle = await bundle()
})

const version = (name: string, storage: boolean = false) => ({
  name,
  storage,
  served: true,
  schema: { openAPIV3Schema: anything },
})

async function define(...versions: object[]): Promise<void> {
  const { status, text } = await lab.call(
    'POST',
    crdsPath,
    crd({ group: lab.group, kind: 'Gear', versions: versions as never }),
  )
  if (status !== 201) throw new Error(text)
  await lab.until(async () => (await lab.call('GET', `/apis/${lab.group}/v1/gears`)).status === 200)
  await lab.until(async () => {
    const { body } = await lab.call('GET', `/apis/${lab.group}/v1`)
    return ((body as Loose).resources ?? []).some(({ name }: Loose) => name === 'gears')
  })
}

const conversion = async (): Promise<Loose> => ((await lab.call('GET', path)).body as Loose).spec.conversion

afterEach(async () => {
  await lab.stopAll()
  await lab.call('DELETE', path)
  await lab.until(async () => (await lab.call('GET', path)).status === 404)
})

const converting = (desk: Desk = new Desk({ url, caBundle })): Operator => {
  const kopf = managed.operator(desk)
  kopf.on.convert([lab.group, 'v1', 'gears'], { from: 'v1', to: 'v2' }, () => ({}))
  kopf.on.convert([lab.group, 'v1', 'gears'], { from: 'v2', to: 'v1' }, () => ({}))
  return kopf
}

const webhookAt = (clientConfig: object) => ({
  strategy: 'Webhook',
  webhook: { clientConfig, conversionReviewVersions: ['v1', 'v1beta1'] },
})

test('the conversion of a CRD is set by one patch before the operator is ready, without a webhook configuration', async () => {
  await define(version('v1', true), version('v2'))
  const wire = lab.record()
  await lab.start(converting(), { transport: wire })
  expect(await conversion()).toEqual(webhookAt({ url: `${url}/convert`, caBundle }))
  await settle(lab)
  expect(tellings(wire)).toEqual([patch])
})

test('the conversion of a CRD stays after the operator has ended, and the next one writes nothing', async () => {
  await define(version('v1', true), version('v2'))
  await lab.stop(await lab.start(converting()))
  expect((await conversion()).strategy).toBe('Webhook')
  const wire = lab.record()
  await lab.start(converting(), { transport: wire })
  await settle(lab)
  expect(tellings(wire)).toEqual([])
})

test.each<[string, () => object | Promise<object>]>([
  ['its webhook is removed', () => ({ strategy: 'None', webhook: null })],
  ['its CA bundle is changed', async () => ({ webhook: { clientConfig: { caBundle: await bundle() } } })],
  [
    'it is pointed to a service',
    () => ({ webhook: { clientConfig: { url: null, service: { namespace: 'default', name: 'elsewhere' } } } }),
  ],
])('the conversion of a CRD is restored by one write after %s', async (_, change) => {
  await define(version('v1', true), version('v2'))
  const wire = lab.record()
  await lab.start(converting(), { transport: wire })
  const before = await conversion()
  const { status } = await lab.call('PATCH', path, { spec: { conversion: await change() } }, mergePatch)
  expect(status).toBe(200)
  await lab.until(async () => isDeepEqual(await conversion(), before))
  expect(tellings(wire)).toEqual([patch, patch])
})

test('the conversion of a CRD moves from a URL to a service together with its CA bundle', async () => {
  await define(version('v1', true), version('v2'))
  const desk = new Desk({ url, caBundle })
  await lab.start(converting(desk))
  desk.move({ service: { namespace: 'default', name: 'hooks', path: '/root' } })
  await lab.until(async () => (await conversion()).webhook.clientConfig.service !== undefined)
  const service = { namespace: 'default', name: 'hooks', port: 443, path: '/root/convert' }
  expect(await conversion()).toEqual(webhookAt({ service }))
})

test('the operator patches nothing in a CRD but its conversion', async () => {
  await define(version('v1', true), version('v2'))
  const strip = ({ spec }: Loose) => ({ ...spec, conversion: undefined })
  const before = strip((await lab.call('GET', path)).body)
  await lab.start(converting())
  expect(strip((await lab.call('GET', path)).body)).toEqual(before)
})

test('a CRD that is created later gets its conversion', async () => {
  await lab.start(converting())
  await lab.untilLogged('Unresolved resources cannot be served')
  await define(version('v1', true), version('v2'))
  await lab.until(async () => (await conversion()).strategy === 'Webhook')
})

test('a CRD that is deleted and created again gets its conversion again', async () => {
  await define(version('v1', true), version('v2'))
  await lab.start(converting())
  await lab.call('DELETE', path)
  await lab.until(async () => (await lab.call('GET', path)).status === 404)
  await define(version('v1', true), version('v2'))
  await lab.until(async () => (await conversion()).strategy === 'Webhook')
})

test('a CRD whose conversion is refused while the operator runs is logged and does not stop the operator', async () => {
  const running = await lab.start(converting(new Desk({ url: 'http://insecure.example.com/' })))
  await define(version('v1', true), version('v2'))
  await lab.untilLogged(`Cannot configure the conversion of ${name}`)
  expect(running.stopping.aborted).toBe(false)
})

test('missing conversions between served versions are logged once each', async () => {
  await define(version('v1', true), version('v2'), version('v3'))
  const kopf = converting()
  kopf.on.convert([lab.group, 'v1', 'gears'], { from: 'v2', to: 'v3' }, () => ({}))
  await lab.start(kopf)
  const gaps = lab.logs.filter((line) => line.includes('cannot be converted'))
  expect(gaps).toHaveLength(2)
  for (const to of ['v1', 'v2']) {
    const gap = `Objects of ${name} cannot be converted from v3 to ${to}: register a conversion with on.convert, directly or through other versions.`
    expect(gaps).toContainEqual(expect.stringContaining(gap))
  }
})

test('CRDs are not patched without a managed name', async () => {
  await define(version('v1', true), version('v2'))
  const kopf = converting()
  kopf.settings.admission.managed = null
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  expect(tellings(wire)).toEqual([])
  expect(lab.logs.join('\n')).toContain(`${url}/convert`)
})

test('an operator that may not patch CRDs fails with the missing RBAC rule', async () => {
  await define(version('v1', true), version('v2'))
  const wire = lab.record()
  forbid(wire, ({ method, path: asked }) => method === 'PATCH' && asked.startsWith(crdsPath))
  await expect(lab.start(converting(), { transport: wire })).rejects.toThrow(
    'apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: ["patch", "list", "watch"]',
  )
})
