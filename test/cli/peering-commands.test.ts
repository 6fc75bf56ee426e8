/** `kopf freeze`, `kopf resume`, and the peering options of `kopf run`, run as commands on the embedded server. */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { type RunningServer, startServer } from 'kopf/server'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { toKubeconfig } from '../../src/server/kubeconfig.ts'
import { parseYaml } from '../../src/util/yaml.ts'
import type { Tree } from '../support/answers.ts'
import { Api } from '../support/api.ts'
import { crdServed, crdsPath } from '../support/crds.ts'
import { eventually, expectStatus } from '../support/expectations.ts'
import { Folder, KopfCommand, stopCommands } from './run-support.ts'

let folder: Folder
let server: RunningServer
let api: Api

beforeAll(async () => {
  server = await startServer()
  api = new Api({ url: server.url, caPem: server.ca!, credentials: { token: server.token! } })
  for (const definition of parseYaml(readFileSync('peering.yaml', 'utf8'))) {
    await crdServed(api, expectStatus(await api.post(crdsPath, definition as Tree), 201))
  }
  for (const name of ['one', 'two']) {
    expectStatus(await api.post('/api/v1/namespaces', { metadata: { name } }), 201)
  }
})

afterAll(async () => {
  api.close()
  await server.stop()
})

const clusterPath = '/apis/kopf.dev/v1/clusterkopfpeerings'
const pathIn = (namespace: string) => `/apis/kopf.dev/v1/namespaces/${namespace}/kopfpeerings`

beforeEach(async () => {
  folder = new Folder()
  folder.write({ kubeconfig: toKubeconfig(server) })
  for (const path of [clusterPath, pathIn('one'), pathIn('two')]) {
    const kind = path === clusterPath ? 'ClusterKopfPeering' : 'KopfPeering'
    expectStatus(await api.post(path, { apiVersion: 'kopf.dev/v1', kind, metadata: { name: 'example' } }), 201)
  }
})

afterEach(async () => {
  await stopCommands()
  folder.remove()
  for (const path of [clusterPath, pathIn('one'), pathIn('two')]) await api.delete(`${path}/example`)
})

function start(
  command: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): KopfCommand {
  const known = args.some((arg) => arg.startsWith('--kubeconfig')) ? [] : ['--kubeconfig', 'kubeconfig']
  return new KopfCommand(folder, [command, ...args, ...known], {
    USER: 'somebody',
    LOGNAME: '',
    POD_ID: '',
    ...variables,
  })
}

async function expectDone(
  command: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<string> {
  const one = start(command, args, variables)
  expect(await one.exit, one.stderr).toBe(0)
  return one.stderr
}

async function recordsAt(path: string): Promise<Tree> {
  return ((expectStatus(await api.get(`${path}/example`), 200) as Tree)['status'] ?? {}) as Tree
}

describe('kopf freeze and kopf resume', { timeout: 60_000 }, () => {
  test('kopf freeze writes a record under the name of the user, and kopf resume removes it', async () => {
    const said = await expectDone('freeze', ['--peering', 'example', '--all-namespaces', '--lifetime', '600'])
    const [[identity, record] = []] = Object.entries(await recordsAt(clusterPath))
    expect(identity).toMatch(/^somebody@.+/)
    expect(identity).not.toContain('/')
    expect(record).toMatchObject({ priority: 100, lifetime: 600, lastseen: expect.stringMatching(/\.\d{6}\+00:00$/) })
    expect(said).toContain(
      `The peering "example" cluster-wide: operators up to priority 100 are paused by "${identity}" for 600 seconds.`,
    )
    await expectDone('resume', ['--peering', 'example', '--all-namespaces'])
    expect(await recordsAt(clusterPath)).toEqual({})
  })

  test('the options of kopf freeze can come from the environment, and the command line takes precedence', async () => {
    const variables = {
      KOPF_FREEZE_PEERING: 'example',
      KOPF_FREEZE_NAMESPACES: 'one two',
      KOPF_FREEZE_PRIORITY: '5',
      KOPF_FREEZE_LIFETIME: '60',
      POD_ID: 'pod-1',
    }
    await expectDone('freeze', ['--lifetime', '61', '--message', 'because'], variables)
    for (const namespace of ['one', 'two']) {
      expect(await recordsAt(pathIn(namespace))).toMatchObject({ 'pod-1': { priority: 5, lifetime: 61 } })
    }
    await expectDone('resume', ['-n', 'one', '-i', 'pod-1'], { KOPF_RESUME_PEERING: 'example' })
    expect(await recordsAt(pathIn('one'))).toEqual({})
    expect(await recordsAt(pathIn('two'))).toHaveProperty('pod-1')
  })

  test('kopf freeze warns of a lifetime that is longer than operators accept, and writes it', async () => {
    const said = await expectDone('freeze', ['-P', 'example', '-n', 'one', '-t', '86401', '-i', 'me'])
    expect(said).toContain('Operators accept a lifetime of at most 24h, unless settings.peering.maxLifetime')
    expect(await recordsAt(pathIn('one'))).toMatchObject({ me: { lifetime: 86_401 } })
    expect(await expectDone('freeze', ['-P', 'example', '-n', 'one', '-t', '86400', '-i', 'me'])).not.toContain(
      'at most',
    )
  })

  test('kopf freeze writes to a peering with thousands of foreign records', async () => {
    const ids = Array.from({ length: 50_000 }, (_, index) => [`x${index}`, { priority: 'high' }])
    expectStatus(await api.mergePatch(`${pathIn('one')}/example`, { status: Object.fromEntries(ids) }), 200)
    await expectDone('freeze', ['-P', 'example', '-n', 'one', '-t', '60', '-i', 'me'])
    expect(await recordsAt(pathIn('one'))).toHaveProperty('me')
    await expectDone('resume', ['-P', 'example', '-n', 'one', '-i', 'me'])
    expect(await recordsAt(pathIn('one'))).not.toHaveProperty('me')
  })

  test('kopf freeze accepts patterns as namespaces', async () => {
    await expectDone('freeze', ['-P', 'example', '-n', '*,!one', '-t', '60', '--dev', '-i', 'me'])
    expect(await recordsAt(pathIn('one'))).toEqual({})
    expect(await recordsAt(pathIn('two'))).toMatchObject({ me: { priority: 666 } })
  })

  test.each(['freeze', 'resume'])(
    'kopf %s exits with 1 for a missing peering, with the existing ones and the command that creates it',
    async (command) => {
      const one = start(command, ['-P', 'other', '-n', 'one', ...(command === 'freeze' ? ['-t', '60'] : [])])
      expect(await one.exit).toBe(1)
      expect(one.stderr).toBe(
        'kopf: Cannot find the peering "other" in "one"; there is "example"; create it: ' +
          `echo '{"apiVersion":"kopf.dev/v1","kind":"KopfPeering","metadata":{"name":"other","namespace":"one"}}' | kubectl apply -f -\n`,
      )
    },
  )

  test('kopf freeze suggests the existing peering for a misspelt name', async () => {
    const one = start('freeze', ['-P', 'exmaple', '-A', '-t', '60'])
    expect(await one.exit).toBe(1)
    expect(one.stderr).toContain(
      'Cannot find the peering "exmaple" cluster-wide; there is "example"; did you mean "example"?',
    )
  })

  test('kopf freeze pauses where the peering exists, and exits with 1 for a named namespace without it', async () => {
    await api.delete(`${pathIn('two')}/example`)
    const one = start('freeze', ['-P', 'example', '-n', 'one', '-n', 'two', '-t', '60', '-i', 'me'])
    expect(await one.exit).toBe(1)
    expect(one.stderr).toContain('Cannot find the peering "example" in "two"; create it: ')
    expect(await recordsAt(pathIn('one'))).toHaveProperty('me')
    const matching = await expectDone('freeze', ['-P', 'example', '-n', '*', '-t', '61', '-i', 'me'])
    expect(matching).not.toContain('two')
    expect(await recordsAt(pathIn('one'))).toMatchObject({ me: { lifetime: 61 } })
  })

  test.each([
    ['5m', 300],
    ['90s', 90],
    ['1.5m', 90],
    ['1d', 86_400],
    ['45', 45],
  ])('kopf freeze accepts the lifetime %s', async (lifetime, seconds) => {
    await expectDone('freeze', ['-P', 'example', '-n', 'one', '--lifetime', lifetime, '-i', 'me'])
    expect(await recordsAt(pathIn('one'))).toMatchObject({ me: { lifetime: seconds } })
  })

  test.each<[string, string[], RegExp]>([
    ['freeze', ['-t', '60'], /required option '-P, --peering <name>' not specified/],
    ['freeze', ['-P', 'x'], /required option '-t, --lifetime <duration>' not specified/],
    [
      'freeze',
      ['-P', 'x', '-t', '0'],
      /'-t, --lifetime <duration>' is "0". Expected a number of seconds, or a duration such as 90s, 5m, 1h or 1d/,
    ],
    ['freeze', ['-P', 'x', '-t', '5 minutes'], /is "5 minutes". Expected a number of seconds, or a duration/],
    ['freeze', ['-P', 'x', '-t', '1', '-p', 'high'], /'-p, --priority <number>' is "high". Expected a whole number/],
    ['freeze', ['-P', 'x', '-t', '1', '-n', 'a', '-A'], /'--namespace' and '--all-namespaces' cannot be used together/],
    ['resume', [], /required option '-P, --peering <name>' not specified/],
    ['run', ['operator.ts', '-p', '1.5'], /'-p, --priority <number>' is "1.5". Expected a whole number/],
  ])('kopf %s %j exits with 2', async (command, args, message) => {
    const one = start(command, args)
    expect(await one.exit).toBe(2)
    expect(one.stderr).toMatch(message)
  })

  test('kopf freeze exits with 1 if the cluster cannot be reached', async () => {
    folder.write({ other: toKubeconfig({ ...server, url: 'https://127.0.0.1:1' } as RunningServer) })
    const one = start('freeze', ['-P', 'example', '-A', '-t', '60', '--kubeconfig', 'other'])
    expect(await one.exit).toBe(1)
    expect(one.stderr).toMatch(/^kopf: .*127\.0\.0\.1:1/m)
  })
})

describe('peering options of kopf run', { timeout: 60_000 }, () => {
  const operator = `import { Operator } from 'kopf'
const kopf = new Operator()
kopf.on.event('configmaps', ({ name, logger }) => logger.info('seen ' + name))
export default kopf
`

  beforeEach(() => folder.write({ 'operator.ts': operator }))

  const signed = (path: string) =>
    eventually(async () => {
      const [record] = Object.entries(await recordsAt(path))
      expect(record).toBeDefined()
      return record!
    })

  test('kopf run --peering --priority announces itself in the peering with that priority', async () => {
    const one = start('run', ['operator.ts', '-A', '--peering', 'example', '--priority', '-7'])
    const [identity, record] = await signed(clusterPath)
    expect(identity).toMatch(/^somebody@.+\/\d{14}\/[a-z0-9]{3}$/)
    expect(identity).toContain(hostname().split('.')[0])
    expect(record).toMatchObject({ priority: -7, lifetime: 60 })
    one.send('SIGTERM')
    expect(await one.exit).toBe(0)
    expect(await recordsAt(clusterPath)).toEqual({})
  })

  test('kopf run --dev takes the priority 666 and the peering from the environment', async () => {
    start('run', ['operator.ts', '--dev'], {
      KOPF_RUN_PEERING: 'example',
      KOPF_RUN_NAMESPACES: 'one',
      KOPF_RUN_PRIORITY: '3',
      POD_ID: 'pod-7',
    })
    expect(await signed(pathIn('one'))).toMatchObject(['pod-7', { priority: 666 }])
  })

  test('kopf run --peering reports a missing peering and runs without it', async () => {
    const one = start('run', ['operator.ts', '-n', 'one', '--peering', 'other'])
    await one.until(/There is no peering "other" in 'one'/)
    one.send('SIGTERM')
    expect(await one.exit).toBe(0)
    expect(one.stderr).not.toContain('seen')
  })
})
