/** Sessions with the real kubectl on both servers: the output must be the same, except for random names. */
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type RunningServer, startServer } from 'kopf/server'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { eventually } from '../../../support/expectations.ts'
import { definition, manifests } from './kubectl-manifests.ts'
import { Kubectl, normalise, type Outcome } from './run-kubectl.ts'
import type { Script } from './session-script.ts'
import { scripts } from './sessions.ts'

const real = inject('realCluster')
const unique = `kubectl-${randomBytes(4).toString('hex')}`
const folder = mkdtempSync(join(tmpdir(), 'kubectl-'))
let embedded: RunningServer

const on = (server: 'real' | 'embedded', namespace = 'default') =>
  new Kubectl({ program: real.kubectl, kubeconfig: join(folder, `${server}.kubeconfig`), namespace, folder })

const servers = ['real', 'embedded'] as const

beforeAll(async () => {
  embedded = await startServer()
  copyFileSync(real.kubeconfigs.admin, join(folder, 'real.kubeconfig'))
  writeFileSync(join(folder, 'embedded.kubeconfig'), embedded.kubeconfig)
  writeFileSync(join(folder, 'definition.yaml'), definition)
  for (const [name, text] of Object.entries(manifests)) writeManifest(name, text)
  for (const server of servers) {
    const kubectl = on(server)
    expectSuccess(await kubectl.run('create -f definition.yaml'))
    expectSuccess(await kubectl.run('wait --for=condition=Established crd/gadgets.kubectl.example.com --timeout=10s'))
    await eventually(async () => expectSuccess(await kubectl.run('get gadgets')))
  }
})

function writeManifest(name: string, text: string): void {
  const path = join(folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text, { mode: name.endsWith('.sh') ? 0o755 : 0o644 })
}

afterAll(async () => {
  expectSuccess(await on('real').run('delete -f definition.yaml'))
  await embedded.stop()
  rmSync(folder, { recursive: true })
})

function expectSuccess(outcome: Outcome): void {
  if (outcome.code !== 0) throw new Error(`kubectl ${outcome.command} failed: ${outcome.stderr}`)
}

/** Runs the commands in a new namespace, which has the same name on both servers. */
async function play({ commands }: Script, server: (typeof servers)[number], namespace: string): Promise<Outcome[]> {
  expectSuccess(await on(server).run(`create namespace ${namespace}`))
  const kubectl = on(server, namespace)
  const outcomes: Outcome[] = []
  for (const command of commands) {
    const typed = command.replace(/^\d+ /, '').replaceAll('$NS', namespace)
    outcomes.push(normalise(await kubectl.run(typed)))
  }
  await on(server).run(`delete namespace ${namespace} --wait=false`)
  return outcomes
}

const expectedCodes = ({ commands }: Script) => commands.map((command) => Number(/^\d+/.exec(command)?.[0] ?? 0))

describe('kubectl sessions', () => {
  test.each(scripts.map((script, index) => [script.title, script, `${unique}-${index}`] as const))(
    'kubectl %s, with the same output on both servers',
    async (_, script, namespace) => {
      const [onReal, onEmbedded] = await Promise.all(servers.map((server) => play(script, server, namespace)))
      expect(onReal!.map(({ code, stderr }) => (code === 0 ? 0 : [code, stderr]))).toEqual(
        expectedCodes(script).map((code, index) => (code === 0 ? 0 : [code, onReal![index]!.stderr])),
      )
      for (const [index, outcome] of onEmbedded!.entries()) expectSame(outcome, onReal![index]!)
    },
    120_000,
  )

  test('kubectl get --watch prints the same on both servers', async () => {
    const [onReal, onEmbedded] = await Promise.all(servers.map(watchOn))
    expect(onEmbedded).toEqual(onReal)
    expect(onReal!.trimEnd().split('\n')).toHaveLength(4)
  })

  test('kubectl api-resources on the embedded server lists only resources of the real API server', async () => {
    const [onReal, onEmbedded] = await Promise.all(
      servers.map(async (server) => normalise(await on(server).run('api-resources --no-headers')).stdout.split('\n')),
    )
    expect(onEmbedded!.filter((line) => !onReal!.includes(line))).toEqual([])
    expect(onEmbedded!.length).toBeGreaterThan(30)
  })
})

/** The embedded server serves fewer API versions; all other output is the same. */
function expectSame(actual: Outcome, expected: Outcome): void {
  if (actual.command === 'api-versions') {
    const known = expected.stdout.split('\n')
    expect(actual.stdout.split('\n').filter((line) => !known.includes(line))).toEqual([])
  } else {
    expect(actual).toEqual(expected)
  }
}

async function watchOn(server: (typeof servers)[number]): Promise<string> {
  const kubectl = on(server)
  const session = kubectl.start(
    'get configmaps -w --output-watch-events --field-selector metadata.name=kubectl-watched',
  )
  try {
    const lines = (count: number) =>
      eventually(async () => expect(session.stdout.split('\n').length - 1).toBeGreaterThanOrEqual(count))
    // An idle watch prints nothing, so the object is created until its event shows that the watch is open.
    await eventually(async () => {
      await kubectl.run('create configmap kubectl-watched')
      expect(session.stdout).not.toBe('')
    })
    expectSuccess(await kubectl.run('label configmap kubectl-watched a=b'))
    await lines(3)
    expectSuccess(await kubectl.run('delete configmap kubectl-watched'))
    await lines(4)
    return normalise({ command: '', code: 0, stdout: session.stdout, stderr: '' }).stdout
  } finally {
    session.stop()
    await session.outcome
  }
}
