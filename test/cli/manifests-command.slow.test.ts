/** `kopf manifests`, and operators that run with exactly the printed permissions, on an embedded server with RBAC. */
import { type RunningServer, startServer } from 'kopf/server'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { parseYaml } from '../../src/util/yaml.ts'
import { Api } from '../support/api.ts'
import {
  AllHandlersScenario,
  createPeering,
  Deployment,
  type DeploymentTarget,
  expectStepHandOver,
  findPort,
  installPeerings,
  missingPermission,
  type ObservedRequest,
  operatorWithAllHandlers,
  unusedWithoutFailures,
} from '../support/deployment.ts'
import { expectStatus, warningsOf } from '../support/expectations.ts'
import { Folder, KopfCommand, stopCommands } from './run-support.ts'

let server: RunningServer
let api: Api
let target: DeploymentTarget

beforeAll(async () => {
  server = await startServer({ authorization: 'rbac' })
  api = new Api({ url: server.url, caPem: server.ca!, credentials: { token: server.token! } })
  target = {
    api,
    url: server.url,
    caPem: server.ca!,
    requestsOf: (user) => server.api.requests.last({ user }).map(toObservedRequest),
    apply: applyAll,
  }
})
afterEach(stopCommands)
afterAll(async () => {
  api.close()
  await server.stop()
})

function toObservedRequest(record: ReturnType<RunningServer['api']['requests']['last']>[number]): ObservedRequest {
  const { verb, resource, subresource, namespace, status } = record
  const [plural] = resource.split('.')
  return { verb, resource: subresource === '' ? plural! : `${plural}/${subresource}`, namespace, status }
}

test('kopf manifests refuses a file of --crd without any CRD', { timeout: 30_000 }, async () => {
  const files = new Folder()
  files.write({
    'operator.mjs':
      "import { Operator } from 'kopf'\nconst kopf = new Operator()\nkopf.on.create('pods', () => {})\nexport default kopf\n",
    'objects.yaml': '{apiVersion: v1, kind: ConfigMap, metadata: {name: first}}',
  })
  const one = new KopfCommand(files, ['manifests', 'operator.mjs', '--crd', 'objects.yaml'])
  expect([await one.exit, one.stdout, one.stderr]).toEqual([
    1,
    '',
    'kopf: Cannot use --crd "objects.yaml": there is no CustomResourceDefinition in it; name a file that has one\n',
  ])
  files.remove()
})

async function applyAll(text: string): Promise<readonly string[]> {
  const { CommandCluster } = await import('../../src/cli/cluster.ts')
  const warnings: string[] = []
  for (const object of parseYaml(text) as Array<{
    kind: string
    apiVersion: string
    metadata: { namespace?: string }
  }>) {
    const [group, version] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : ['', object.apiVersion]
    const { plural } = await new CommandCluster(server.api).find({
      group: group!,
      version: version!,
      kind: object.kind,
    })
    const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
    const place = object.metadata.namespace === undefined ? '' : `/namespaces/${object.metadata.namespace}`
    const answer = await api.post(`${root}${place}/${plural}`, object)
    expectStatus(answer, 201)
    warnings.push(...warningsOf(answer))
  }
  return warnings
}

async function createNamespaces(...names: string[]): Promise<void> {
  for (const name of names) expectStatus(await api.post('/api/v1/namespaces', { metadata: { name } }), 201)
}

describe('operators with the printed permissions', { timeout: 120_000 }, () => {
  test('an operator with the printed permissions can do everything its handlers do, in the named namespaces', async () => {
    const group = 'all.example.com'
    const port = await findPort()
    await createNamespaces('ops', 'team-a', 'team-b')
    await installPeerings(api)
    await createPeering(api, 'main', ['team-a', 'team-b'])
    const args = ['-n', 'team-a', '-n', 'team-b', '--install-namespace', 'ops', '--grant', 'create secrets']
    const deployed = await Deployment.install(target, operatorWithAllHandlers(group, port), args)
    await deployed.rerouteService(port)
    const running = await deployed.run()
    const scenarios = ['team-a', 'team-b'].map((namespace) => new AllHandlersScenario(api, group, namespace))
    await Promise.all(scenarios.map((scenario) => scenario.run(() => deployed.log)))
    await scenarios[0]!.runClusterScoped(() => deployed.log)
    running.send('SIGTERM')
    expect(await running.exit).toBe(0)
    expect(deployed.refused).toEqual([])
    expect(deployed.log).not.toMatch(missingPermission)
    // A subset: a busy machine also uses some of the rules that are only needed for retries.
    expect(unusedWithoutFailures({ served: ['team-a', 'team-b'], home: 'ops' })).toEqual(
      expect.arrayContaining(deployed.unused),
    )
    deployed.folder.remove()
  })

  test('an operator with the printed permissions continues the steps of an earlier process', async () => {
    await createNamespaces('steps')
    await expectStepHandOver(target, 'steps')
  })

  test('an operator with the printed permissions finds namespaces by a pattern, including later ones', async () => {
    await createNamespaces('green-1', 'red')
    const deployed = await Deployment.install(target, greeter, ['-n', 'green-*'])
    const running = await deployed.run()
    const make = (namespace: string) =>
      api.post(`/apis/greeting.example.com/v1/namespaces/${namespace}/greetings`, {
        apiVersion: 'greeting.example.com/v1',
        kind: 'Greeting',
        metadata: { name: 'first' },
      })
    for (const namespace of ['red', 'green-1']) expectStatus(await make(namespace), 201)
    await running.until(/Hello from green-1/)
    await createNamespaces('green-2')
    expectStatus(await make('green-2'), 201)
    await running.until(/Hello from green-2/)
    running.send('SIGTERM')
    expect(await running.exit).toBe(0)
    expect(deployed.refused).toEqual([])
    expect(deployed.log).not.toMatch(missingPermission)
    expect(deployed.log).not.toContain('Hello from red')
    deployed.folder.remove()
  })
})

const greeter = `import { defineResource, Operator } from 'kopf'
const Greeting = defineResource({ group: 'greeting.example.com', version: 'v1', kind: 'Greeting' })
const kopf = new Operator({ name: 'greeter' })
kopf.on.create(Greeting, ({ namespace, logger }) => logger.info('Hello from ' + namespace))
export default kopf
`
