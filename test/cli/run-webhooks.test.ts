/** `kopf run` with webhooks: the webhook configuration after the start, after SIGTERM, and after SIGKILL. */
import { type RunningServer, startServer } from 'kopf/server'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ask } from '../support/in-process.ts'
import { Folder, KopfCommand, RunCommand, stopCommands } from './run-support.ts'

const managed = 'run.kopf.dev'
const path = `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${managed}`

let folder: Folder
let server: RunningServer
beforeEach(async () => {
  folder = new Folder()
  server = await startServer()
  folder.write({
    'dev.kubeconfig': server.kubeconfig,
    'operator.ts': [
      "import { AdmissionError, Operator } from 'kopf'",
      "import { WebhookServer } from 'kopf/webhooks'",
      'const kopf = new Operator()',
      `kopf.settings.admission.managed = '${managed}'`,
      "kopf.settings.admission.server = new WebhookServer({ addr: '127.0.0.1' })",
      "kopf.on.validate('configmaps', { id: 'check', operations: ['CREATE'] }, ({ body }) => {",
      "  if (body.data?.color !== 'green') throw new AdmissionError('only green will do', { status: 400 })",
      '})',
      'export default kopf',
    ].join('\n'),
  })
})
afterEach(async () => {
  await stopCommands()
  await server.stop()
  folder.remove()
})

const run = () => new RunCommand(folder, ['operator.ts', '--verbose', '-A', '--kubeconfig', 'dev.kubeconfig'])

interface Entry {
  readonly clientConfig: { readonly url: string }
}

async function webhooks(): Promise<readonly Entry[]> {
  const { status, body } = await ask(server.api, 'GET', path)
  expect(status).toBe(200)
  return (body['webhooks'] ?? []) as readonly Entry[]
}

const make = (color: string) =>
  ask(server.api, 'POST', '/api/v1/namespaces/default/configmaps', {
    body: { metadata: { generateName: 'c-' }, data: { color } },
  })

const untilTold = (one: RunCommand) => one.until(/Reconfiguring the validating webhook/)

test('the webhooks of kopf run are answered while it runs, and removed on SIGTERM', { timeout: 30_000 }, async () => {
  const one = await untilTold(run())
  await expect.poll(async () => (await make('red')).status, { timeout: 10_000 }).toBe(400)
  const refused = await make('red')
  expect(refused.body['message']).toBe(`admission webhook "check.${managed}" denied the request: only green will do`)
  expect((await make('green')).status).toBe(201)
  one.send('SIGTERM')
  expect(await one.exit).toBe(0)
  expect(one.stderr).toContain(`Cleaning up the admission webhook ${managed}.`)
  expect(await webhooks()).toEqual([])
  expect((await make('red')).status).toBe(201)
})

test('the webhooks of a killed kopf run are taken over by the next one', { timeout: 30_000 }, async () => {
  const killed = await untilTold(run())
  await expect.poll(async () => (await make('red')).status, { timeout: 10_000 }).toBe(400)
  killed.send('SIGKILL')
  expect(await killed.exit).toBe('SIGKILL')
  const [left] = await webhooks()
  expect(await make('green')).toMatchObject({ status: 500 })
  const next = await untilTold(run())
  await expect.poll(async () => (await make('green')).status, { timeout: 10_000 }).toBe(201)
  const [taken] = await webhooks()
  expect(taken!.clientConfig.url).not.toBe(left!.clientConfig.url)
  next.send('SIGTERM')
  expect(await next.exit).toBe(0)
  expect(await webhooks()).toEqual([])
})

/** An operator that converts widgets between v1 and v2, and refuses those that are too large. Logs the size of new widgets. */
const converting = [
  "import { AdmissionError, Operator, defineResource } from 'kopf'",
  "import { WebhookServer } from 'kopf/webhooks'",
  "const names = { group: 'example.com', kind: 'Widget' } as const",
  "const V1 = defineResource({ ...names, version: 'v1' })",
  "const V2 = defineResource({ ...names, version: 'v2' })",
  "const server = new WebhookServer({ addr: '127.0.0.1' })",
  "const kopf = new Operator({ settings: { admission: { server, managed: 'run.kopf.dev' } } })",
  'kopf.on.convert(V2, { from: V1, to: V2 }, ({ spec }) => ({ spec: { sizeInGb: Number.parseInt(spec.size!) } }))',
  "kopf.on.convert(V2, { from: V2, to: V1 }, ({ spec }) => ({ spec: { size: spec.sizeInGb + 'Gi' } }))",
  "kopf.on.validate(V2, ({ spec }) => { if (spec.sizeInGb! > 10) throw new AdmissionError('too large') })",
  "kopf.on.create(V2, ({ name, spec, logger }) => logger.info(name + ': ' + JSON.stringify(spec)))",
  'export default kopf',
].join('\n')
const oldWidget = (size: string) =>
  `{apiVersion: example.com/v1, kind: Widget, metadata: {name: first}, spec: {size: ${size}}}`

test('kopf run --embedded creates objects when the operator can convert and review them', async () => {
  folder.write({ 'operator.ts': converting, 'objects.yaml': oldWidget('5Gi') })
  const one = new RunCommand(folder, ['operator.ts', '--embedded', '--apply', 'objects.yaml'])
  await one.until(/first: \{"sizeInGb":5\}/)
  expect(one.stdout).toContain(
    'Created at the start:\n  customresourcedefinitions.apiextensions.k8s.io/widgets.example.com\n',
  )
  await one.until(/Created widgets\.example\.com\/first\./)
  one.send('SIGTERM')
  expect(await one.exit).toBe(0)
})

test('kopf run --embedded ends if the operator refuses an object of a file', async () => {
  folder.write({ 'operator.ts': converting, 'objects.yaml': oldWidget('50Gi') })
  const one = new RunCommand(folder, ['operator.ts', '--embedded', '--apply', 'objects.yaml'])
  expect(await one.exit).toBe(1)
  expect(one.stderr).toMatch(
    /^kopf: objects\.yaml: Cannot load Widget "first": admission webhook .* denied the request: too large$/m,
  )
})

test('kopf dev applies objects when the operator can convert and review them', async () => {
  folder.write({ 'operator.ts': converting, 'objects.yaml': oldWidget('5Gi') })
  const one = new KopfCommand(folder, ['dev', 'operator.ts', '--apply', 'objects.yaml', '--no-check'])
  await one.until(/first: \{"sizeInGb":5\}/)
  folder.write({ 'objects.yaml': oldWidget('50Gi') })
  await one.until(/objects\.yaml: Cannot apply Widget "first": .* denied the request: too large/)
  one.send('SIGTERM')
  expect(await one.exit).toBe(0)
})
