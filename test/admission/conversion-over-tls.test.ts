/** Conversions end to end: the API server calls the operator's webhook server, as the CRD says that the operator patches. */
import { randomBytes } from 'node:crypto'
import { Operator } from 'kopf'
import { WebhookServer } from 'kopf/webhooks'
import { expect, test } from 'vitest'
import type { Tree } from '../support/answers.ts'
import { anything, crdsPath } from '../support/crds.ts'
import { type Reply, useLab } from '../support/lab.ts'

const lab = useLab({ hasSockets: true })
const managed = `m${randomBytes(4).toString('hex')}.kopf.dev`

const definitionOf = (plural: string) => `${crdsPath}/${plural}.${lab.group}`
const pathIn = (version: string, plural: string, name = '') =>
  `/apis/${lab.group}/${version}/namespaces/${lab.namespace}/${plural}${name === '' ? '' : `/${name}`}`

/** A CRD stored as v1 and also served as v2 and v3. */
async function install(kind: string): Promise<string> {
  const version = (name: string) => ({
    name,
    served: true,
    storage: name === 'v1',
    schema: { openAPIV3Schema: anything },
  })
  await lab.install({ kind, versions: ['v1', 'v2', 'v3'].map(version) })
  return `${kind.toLowerCase()}s`
}

function createOperator(plural: string): Operator {
  const operator = new Operator()
  operator.settings.admission.server = new WebhookServer({ addr: '127.0.0.1', host: '127.0.0.1' })
  operator.settings.admission.managed = managed
  const things = `${plural}.${lab.group}`
  operator.on.convert(things, { from: 'v1', to: 'v2' }, ({ spec }) => {
    if (spec['size'] === 'bad') throw new Error('This is no size')
    return { spec: { sizeInGb: Number.parseInt(spec['size'], 10) } }
  })
  operator.on.convert(things, { from: 'v2', to: 'v1' }, ({ spec }) => ({ spec: { size: `${spec['sizeInGb']}Gi` } }))
  operator.on.convert(things, { from: 'v2', to: 'v3' }, ({ spec }) => ({ spec: { sizeInMb: spec['sizeInGb'] * 1024 } }))
  operator.on.convert(things, { from: 'v3', to: 'v2' }, ({ spec }) => ({ spec: { sizeInGb: spec['sizeInMb'] / 1024 } }))
  return operator
}

/** Retries while the real server restarts the storage of a CRD that has just changed. */
async function create(version: string, plural: string, object: Tree): Promise<Reply> {
  let last = {} as Reply
  await lab.until(async () => {
    last = await lab.outside(lab.call('POST', pathIn(version, plural), object))
    return last.status !== 404 && last.status !== 503
  })
  expect(last.status).toBe(201)
  return last
}

const read = (version: string, plural: string, name = '') => lab.outside(lab.call('GET', pathIn(version, plural, name)))

async function untilRead(isSo: (reply: Reply) => boolean, ...where: Parameters<typeof read>): Promise<Reply> {
  let last = {} as Reply
  await lab.until(async () => {
    last = await read(...where)
    return isSo(last)
  })
  return last
}

test('objects are read and written in each served version, with conversions chained over intermediate versions', async () => {
  const plural = await install('Cupboard')
  const operator = createOperator(plural)
  const running = await lab.start(operator)
  const metadata = { name: 'one', labels: { a: 'b' }, annotations: { c: 'd' } }
  await create('v1', plural, {
    apiVersion: `${lab.group}/v1`,
    kind: 'Cupboard',
    metadata,
    spec: { size: '3Gi' },
    more: 1,
  })
  const { body } = await untilRead(({ body }) => body.spec?.['sizeInMb'] !== undefined, 'v3', plural, 'one')
  expect(body).toMatchObject({ apiVersion: `${lab.group}/v3`, spec: { sizeInMb: 3072 }, more: 1, metadata })
  expect(Object.keys(body.spec)).toEqual(['sizeInMb'])

  const made = { apiVersion: `${lab.group}/v3`, kind: 'Cupboard', metadata: { name: 'two' }, spec: { sizeInMb: 2048 } }
  expect((await create('v3', plural, made)).body.spec).toEqual({ sizeInMb: 2048 })
  expect((await read('v1', plural, 'two')).body.spec).toEqual({ size: '2Gi' })
  const { body: list } = await read('v2', plural)
  expect(list['items'].map(({ spec }: { spec: Tree }) => spec)).toEqual([{ sizeInGb: 3 }, { sizeInGb: 2 }])
  await lab.stop(running)
})

test('an object that cannot be converted fails alone, with the reason of its conversion', async () => {
  const plural = await install('Drawer')
  await lab.start(createOperator(plural))
  const drawer = (name: string, size: string) => ({
    apiVersion: `${lab.group}/v1`,
    kind: 'Drawer',
    metadata: { name },
    spec: { size },
  })
  await create('v1', plural, drawer('good', '5Gi'))
  await create('v1', plural, drawer('bad', 'bad'))
  const { body } = await untilRead(({ status }) => status !== 200, 'v2', plural, 'bad')
  const what = `Cannot convert Drawer "${lab.namespace}/bad" from ${lab.group}/v1 to ${lab.group}/v2: This is no size`
  expect(body['message']).toContain(`conversion webhook for ${lab.group}/v1, Kind=Drawer failed: ${what}`)
  expect((await read('v2', plural, 'good')).body.spec).toEqual({ sizeInGb: 5 })
  expect((await read('v2', plural)).body['message']).toContain(what)
  expect((await read('v1', plural)).body['items']).toHaveLength(2)
})

test('the conversion webhook stays in the CRD after the operator has ended, so that reads fail instead of being wrong', async () => {
  const plural = await install('Shelf')
  const running = await lab.start(createOperator(plural))
  const { spec } = await lab.call('GET', definitionOf(plural)).then(({ body }) => body)
  expect(spec['conversion']).toMatchObject({
    strategy: 'Webhook',
    webhook: {
      clientConfig: { url: expect.stringMatching(/^https:.*\/convert$/) },
      conversionReviewVersions: ['v1', 'v1beta1'],
    },
  })
  await create('v1', plural, {
    apiVersion: `${lab.group}/v1`,
    kind: 'Shelf',
    metadata: { name: 'a' },
    spec: { size: '1Gi' },
  })
  await untilRead(({ status }) => status === 200, 'v2', plural, 'a')
  await lab.stop(running)
  await lab.elapse(1)
  expect((await read('v1', plural, 'a')).status).toBe(200)
  const { body } = await untilRead(({ status }) => status !== 200, 'v2', plural, 'a')
  expect(body['message']).toContain(`conversion webhook for ${lab.group}/v1, Kind=Shelf failed`)
})
