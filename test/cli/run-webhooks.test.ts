/** `kopf run` with webhooks: the webhook configuration after the start, after SIGTERM, and after SIGKILL. */
import { type RunningServer, startServer } from 'kopf/server'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ask } from '../support/in-process.ts'
import { Folder, RunCommand, stopCommands } from './run-support.ts'

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
