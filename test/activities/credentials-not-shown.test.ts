/** Credentials never appear in logs, errors, events, or responses of the health endpoint. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { ConnectionInfo, type LogFormat, loginWithKubeconfig, loginWithServiceAccount, Operator } from 'kopf'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLogSink } from '../../src/util/log/log.ts'
import { useCluster } from '../support/cluster.ts'
import { addressIn, anywhere, ask, useStage } from './activity-support.ts'
import { type Gatekeeper, until, useGatekeeper } from './gatekeeper.ts'

const cluster = useCluster()
const stage = useStage()
const startGatekeeper = useGatekeeper(cluster)
let gate: Gatekeeper
let folder: string

beforeEach(async () => {
  gate = await startGatekeeper()
  folder = mkdtempSync(join(tmpdir(), 'kopf-secrets-'))
})

afterEach(() => rmSync(folder, { recursive: true }))

/** Part of every secret below, and of nothing else, so that any leak contains this word. */
const canary = 'canary'
const token = (name: string) => `${canary}-${name}`

/** All texts of an error and its causes. */
function wholeOf(error: unknown): string {
  return [
    String(error),
    inspect(error, { depth: 20, showHidden: true }),
    JSON.stringify(error),
    (error as Error)?.stack,
  ].join()
}

function write(name: string, content: string | object, mode = 0o600): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  chmodSync(path, mode)
  return path
}

/** A kubeconfig with an exec plugin that prints the token, writes it to stderr, and fails once the file `fail` exists. */
function execConfig(): string {
  const code = `#!${process.execPath}
    const status = { token: process.env.EXEC_SECRET }
    process.stdout.write(JSON.stringify({ kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1', status }))
    process.stderr.write('cannot go on with ' + process.env.EXEC_SECRET)
    if (require('node:fs').existsSync(${JSON.stringify(join(folder, 'fail'))})) process.exit(1)`
  const command = write('plugin', code, 0o700)
  const env = [{ name: 'EXEC_SECRET', value: token('exec') }]
  return write('config', {
    'current-context': 'c',
    clusters: [{ name: 'k', cluster: { server: gate.url } }],
    users: [{ name: 'u', user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command, env } } }],
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
  })
}

test.each<LogFormat>(['plain', 'full', 'json'])('%s logs of an operator contain no credentials', async (format) => {
  const said: string[] = []
  const errors: unknown[] = []
  const path = execConfig()
  write('token', token('service-account'))
  const kopf = new Operator({ settings: { networking: { errorBackoffs: [0.05] } } })
  kopf.settings.posting.loggers = true
  const login = (id: string, priority: number, find: () => ConnectionInfo | Promise<ConnectionInfo>) =>
    kopf.on.login({ id, errors: 'permanent' }, async ({ logger }) => {
      try {
        const info = new ConnectionInfo({ ...(await find()).reveal(), server: gate.url, priority })
        logger.info(`Logged in with ${info}`, { info })
        logger.debug(inspect(info))
        return info
      } catch (error) {
        errors.push(error)
        throw error
      }
    })
  const server = gate.url
  const tokens = ['first', 'last'].map(token)
  login('good', 9, () => new ConnectionInfo({ server, token: tokens.shift() ?? token('last') }))
  login('password', 8, () => new ConnectionInfo({ server, username: 'me', password: token('password') }))
  login('pod', 7, () => loginWithServiceAccount({ path: folder })!)
  login('program', 6, () => loginWithKubeconfig({ path })!)
  kopf.on.create('configmaps', { labels: { canaries: format } }, async ({ logger, recorder, client, patch, name }) => {
    gate.good.clear()
    gate.good.add(token('last'))
    write('fail', '')
    logger.info('Here we are')
    recorder.warn('Odd', 'Something is odd')
    await client.list('namespaces').catch((error: unknown) => errors.push(error))
    patch['data'] = { handled: name }
  })
  gate.good.add(token('first'))
  const logging = createLogSink({ format, debug: true, write: (line) => said.push(line) })
  const options = { namespaces: [cluster.namespace], livenessEndpoint: anywhere, logging }
  const running = await stage.start(kopf, options)
  await running.ready
  const health = format === 'plain' ? addressIn(said.map((line) => line.trim())) : undefined
  const name = `canaries-${format}`
  const metadata = { name, labels: { canaries: format } }
  await cluster.api.post(cluster.core('configmaps'), { apiVersion: 'v1', kind: 'ConfigMap', metadata })
  await until(() => gate.seen.some(({ method, status }) => method === 'PATCH' && status === 200))
  if (health) said.push(...(await Promise.all(['/healthz', '/readyz'].map(async (at) => (await ask(health, at)).text))))
  await running.stop()
  // Two more runs: one with a refused token, one through a proxy that cannot be reached.
  for (const bad of [{}, { server: 'https://127.0.0.1', proxyUrl: `http://me:${token('proxy')}@127.0.0.1:1` }]) {
    const connection = new ConnectionInfo({ server, token: token('bad'), ...bad })
    const refused = await kopf.start({ ...options, connection })
    errors.push(await refused.done.catch((error: unknown) => error))
  }
  expect(wholeOf(errors.at(-2))).toContain('Ran out of valid credentials')
  expect(wholeOf(errors.at(-1))).toContain('nothing listens at 127.0.0.1:1')
  expect(wholeOf(errors[0])).toContain('ended with status 1: cannot go on with (hidden)')
  const events = (await cluster.api.get(cluster.core('events'))).text
  expect(events).toContain('Something is odd')
  const objects = (await cluster.api.get(cluster.core('configmaps'))).text
  const bodies = gate.seen.map(({ body, path }) => path + body)
  expect(said.join('\n')).toContain('Logged in with')
  for (const text of [...said, ...errors.map(wholeOf), events, objects, ...bodies]) {
    expect(text.replaceAll(`canaries-${format}`, '').replaceAll('canaries', '')).not.toContain(canary)
  }
  // The credentials were actually sent.
  const basic = `Basic ${Buffer.from(`me:${token('password')}`).toString('base64')}`
  const shown = ['first', 'service-account', 'exec', 'last', 'bad'].map(token)
  expect(new Set(gate.seen.map((request) => request.token))).toEqual(new Set([...shown, basic]))
})
