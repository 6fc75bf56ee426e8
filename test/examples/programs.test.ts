/** The examples that are not only an operator: the server, the tests of an operator, an application with an embedded operator. */
import { execFile } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { startServer } from 'kopf/server'
import { afterEach, expect, inject, test } from 'vitest'
import { loadObjects } from '../../src/server/load.ts'
import { parseYaml } from '../../src/util/yaml.ts'
import { KopfCommand, stopCommands } from '../cli/run-support.ts'
import { Api } from '../support/api.ts'
import type { Reply } from '../support/in-process.ts'
import { copyExample } from './copies.ts'
import { Kubectl } from './kubectl.ts'
import { type Block, readReadme } from './readme.ts'
import { isAnswerShown, Terminal } from './shown.ts'
import { isReal } from './stage.ts'
import { Story, useStories } from './story.ts'

useStories()

const copies: string[] = []

afterEach(async () => {
  await stopCommands()
  for (const copy of copies.splice(0)) rmSync(copy, { recursive: true })
})

function copy(folder: string): string {
  const path = copyExample(folder)
  copies.push(path)
  return path
}

const patience = { timeout: 120_000 }
const linesOf = (block: Block | undefined) => (block?.type === 'log' ? block.lines : [])

/** Runs `node --import tsx …` in the folder of an example, without the environment of the test runner. */
function runNode(args: readonly string[], options: { folder: string; variables?: Record<string, string> }) {
  const { NODE_OPTIONS: _, NODE_ENV: __, ...env } = process.env
  return promisify(execFile)(process.execPath, ['--import', 'tsx', ...args], {
    cwd: options.folder,
    env: { ...env, ...options.variables },
  })
}

test('the example 00-embedded-server prints its address, and serves kubectl', patience, async () => {
  const { seen } = readReadme('00-embedded-server')
  const path = copy('00-embedded-server')
  const args = ['server', '--filename', 'objects.yaml']
  const server = new KopfCommand({ path, temporary: path, command: [inject('command')] }, args)
  await server.until(/Ctrl-C/)
  const here = (text: string) =>
    text.replaceAll(/127\.0\.0\.1:\d+/g, '<address>').replaceAll(/\/\S+kubeconfig/g, '<file>')
  expect(here(server.stdout).trimEnd().split('\n')).toEqual(linesOf(seen[0]).map(here))
  const kubeconfig = /KUBECONFIG=(\S+)/.exec(server.stdout)![1]!
  const [, commands] = seen
  for (const { command, answer } of commands?.type === 'commands' ? commands.commands : []) {
    expect(isAnswerShown(answer, await kubectl(command, kubeconfig)), command).toBe(true)
  }
})

/** Runs the real kubectl if there is one. */
async function kubectl(command: string, kubeconfig: string): Promise<string> {
  if (isReal) {
    const PATH = `${dirname(inject('realCluster').kubectl)}:${process.env['PATH']}`
    const env = { ...process.env, KUBECONFIG: kubeconfig, PATH }
    const { stdout } = await promisify(execFile)('bash', ['-c', `(${command}) 2>&1 || true`], { env })
    return stdout
  }
  const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8'))
  const caPem = Buffer.from(clusters[0].cluster['certificate-authority-data'], 'base64').toString()
  const api = new Api({ url: clusters[0].cluster.server, credentials: users[0].user, caPem })
  const send = async (method: string, path: string, { body, headers }: { body?: unknown; headers?: object } = {}) => {
    const type = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {}
    const parsed = typeof body === 'string' ? JSON.parse(body) : body
    return (await api.request(method, path, {
      headers: { ...type, ...headers },
      ...(parsed === undefined ? {} : { body: parsed }),
    })) as unknown as Reply
  }
  try {
    return await new Kubectl(send).run(command.replace('kubectl ', ''))
  } finally {
    api.close()
  }
}

test('the tests of the example 09-testing pass with the test runner of Node', patience, async () => {
  const { stdout } = await runNode(['--test', '--test-reporter=spec', 'operator.test.ts'], {
    folder: copy('09-testing'),
  })
  const shown = linesOf(readReadme('09-testing').seen[0])
  const passed = stdout.split('\n').flatMap((line) => /^✔ .*(?= \(\d)/.exec(line)?.[0] ?? [])
  expect(passed).toEqual(shown)
})

test('the operator of the example 09-testing prints what its README shows', patience, async () => {
  const story = await Story.open('09-testing')
  story.skip(1)
  await story.follow(await story.run())
  story.end()
})

test('the example 12-embedded prints what its README shows, and ends', patience, async () => {
  const story = await Story.open('12-embedded')
  await using cluster = await openCluster()
  const [said, logged] = readReadme('12-embedded').seen
  const { stdout, stderr } = await runNode(['main.ts'], { folder: copy('12-embedded'), variables: cluster.variables })
  expect(stdout.trimEnd().split('\n')).toEqual(linesOf(said))
  const terminal = new Terminal(() => stderr.trimEnd().split('\n'))
  expect(terminal.shows(linesOf(logged)), stderr).toBe(true)
  story.skip(2)
  story.end()
})

/** A cluster for a separate process: `npx kopf server --filename object.yaml --kubeconfig dev.kubeconfig`, or the real one. */
async function openCluster(): Promise<AsyncDisposable & { variables: Record<string, string> }> {
  if (isReal)
    return { variables: { KUBECONFIG: inject('realCluster').kubeconfigs.admin }, [Symbol.asyncDispose]: async () => {} }
  const server = await startServer()
  await loadObjects(server.api, parseYaml(readFileSync(join('examples', '12-embedded', 'object.yaml'), 'utf8')))
  const file = join(copy('12-embedded'), 'dev.kubeconfig')
  writeFileSync(file, server.kubeconfig)
  return { variables: { KUBECONFIG: file }, [Symbol.asyncDispose]: () => server.stop() }
}
