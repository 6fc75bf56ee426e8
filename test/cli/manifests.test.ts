/** `kopf manifests`, and an operator with exactly what it has printed, on an embedded server that goes by roles. */
import { type RunningServer, startServer } from 'kopf/server'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { parseYaml } from '../../src/util/yaml.ts'
import { Api } from '../support/api.ts'
import {
  createPeering,
  Deployment,
  findPort,
  installPeerings,
  operatorOfAllKinds,
  playHandOver,
  Scene,
  type Use,
  unusedInCalmTimes,
  type World,
} from '../support/deployment.ts'
import { expectStatus, warningsOf } from '../support/expectations.ts'
import { stopCommands } from './run-support.ts'

let server: RunningServer
let api: Api
let world: World

beforeAll(async () => {
  server = await startServer({ authorization: 'rbac' })
  api = new Api({ url: server.url, caPem: server.ca!, credentials: { token: server.token! } })
  world = {
    api,
    url: server.url,
    caPem: server.ca!,
    usesOf: (user) => server.api.requests.last({ user }).map(toUse),
    apply: applyAll,
  }
})
afterEach(stopCommands)
afterAll(async () => {
  api.close()
  await server.stop()
})

function toUse(record: ReturnType<RunningServer['api']['requests']['last']>[number]): Use {
  const { verb, resource, subresource, namespace, status } = record
  const [plural] = resource.split('.')
  return { verb, resource: subresource === '' ? plural! : `${plural}/${subresource}`, namespace, status }
}

async function applyAll(text: string): Promise<readonly string[]> {
  const { Cluster } = await import('../../src/cli/cluster.ts')
  const warnings: string[] = []
  for (const object of parseYaml(text) as Array<{
    kind: string
    apiVersion: string
    metadata: { namespace?: string }
  }>) {
    const [group, version] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : ['', object.apiVersion]
    const { plural } = await new Cluster(server.api).find({ group: group!, version: version!, kind: object.kind })
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

describe('an operator with exactly these rights', { timeout: 120_000 }, () => {
  test('does all that its handlers are for, in the namespaces that were named', async () => {
    const group = 'all.example.com'
    const port = await findPort()
    await createNamespaces('ops', 'team-a', 'team-b')
    await installPeerings(api)
    await createPeering(api, 'main', ['team-a', 'team-b'])
    const args = ['-n', 'team-a', '-n', 'team-b', '--install-namespace', 'ops', '--grant', 'create secrets']
    const deployed = await Deployment.install(world, operatorOfAllKinds(group, port), args)
    await deployed.rerouteService(port)
    const running = await deployed.run()
    const scenes = ['team-a', 'team-b'].map((namespace) => new Scene(api, group, namespace))
    await Promise.all(scenes.map((scene) => scene.play(() => deployed.log)))
    await scenes[0]!.playInTheCluster(() => deployed.log)
    running.send('SIGTERM')
    expect(await running.exit).toBe(0)
    expect(deployed.refused).toEqual([])
    expect(deployed.log).not.toMatch(/not allowed|[Ff]orbidden/)
    // Times may be less calm, on a machine that is busy.
    expect(unusedInCalmTimes({ served: ['team-a', 'team-b'], home: 'ops' })).toEqual(
      expect.arrayContaining(deployed.unused),
    )
    deployed.folder.remove()
  })

  test('goes on with the steps that a process before it has done', async () => {
    await createNamespaces('steps')
    await playHandOver(world, 'steps')
  })

  test('finds namespaces by a pattern, also those that come later', async () => {
    await createNamespaces('green-1', 'red')
    const deployed = await Deployment.install(world, greeter, ['-n', 'green-*'])
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
    expect(deployed.log).not.toMatch(/not allowed|[Ff]orbidden|Hello from red/)
    deployed.folder.remove()
  })
})

const greeter = `import { defineResource, Operator } from 'kopf'
const Greeting = defineResource({ group: 'greeting.example.com', version: 'v1', kind: 'Greeting' })
const kopf = new Operator({ name: 'greeter' })
kopf.on.create(Greeting, ({ namespace, logger }) => logger.info('Hello from ' + namespace))
export default kopf
`
