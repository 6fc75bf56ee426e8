/** KopfRunner runs the command in the background: its output and its end. */
import { join, resolve } from 'node:path'
import type { KopfRunnerOptions, KopfRunner as Runner } from 'kopf/testing'
import { afterEach, beforeEach, expect, inject, test, vi } from 'vitest'
import { Folder } from '../cli/run-support.ts'

/** The built package, whose runner starts the built command. */
const { KopfRunner }: typeof import('kopf/testing') = await import(join(inject('package'), 'dist/testing/index.js'))

const operator = `
import { Operator } from 'kopf'
const kopf = new Operator()
kopf.on.startup(() => { if (process.env.FAIL) throw new Error('no way') }, )
kopf.on.create('kopfexamples', ({ spec, logger }) => logger.info(\`And here we are! \${spec.field}\`))
kopf.on.cleanup(async () => { if (process.env.HANG) await new Promise(() => setInterval(() => {}, 1000)) })
export default kopf
`

let folder: Folder

beforeEach(() => {
  folder = new Folder()
  folder.write({ 'operator.ts': operator })
})

afterEach(() => folder.remove())

function start(args: readonly string[], { env, ...options }: KopfRunnerOptions = {}): Runner {
  const inherited = { KUBECONFIG: undefined, HOME: folder.path }
  return new KopfRunner(args, { cwd: folder.path, env: { ...inherited, ...env }, timeout: '50s', ...options })
}

const object = resolve('examples/01-minimal/object.yaml')

test('KopfRunner runs an operator until it is stopped', { timeout: 60_000 }, async () => {
  await using runner = start(['run', 'operator.ts', '--embedded', '--apply', object])
  await runner.until('And here we are! value')
  await runner.until(/Creation is processed: \d succeeded/)
  expect(runner.exitCode).toBeUndefined()
  await runner.stop()
  expect(runner.exitCode).toBe(0)
  expect(runner.error).toBeUndefined()
  expect(runner.stdout).toContain('The embedded Kubernetes API server is ready')
  expect(runner.stderr).toContain('And here we are!')
  expect(runner.output).toContain(runner.stdout.slice(0, 50))
  expect(process.listeners('exit').filter(({ name }) => name === 'kill')).toEqual([])
})

test('KopfRunner can be stopped before the operator starts, which is not a failure', async () => {
  const runner = start(['run', 'operator.ts', '--embedded'])
  await runner.stop()
  expect([runner.exitCode, runner.error]).toEqual([null, undefined])
})

test('KopfRunner reports at its stop why the command failed', async () => {
  const runner = start(['run', 'nothing.ts'])
  await expect(runner.until('And here we are!')).rejects.toThrow(
    'Cannot run "kopf run nothing.ts": it ended with exit code 1, and its output has no "And here we are!". It printed:\nkopf: ',
  )
  await expect(runner.stop()).rejects.toThrow('it ended with exit code 1. It printed:\nkopf: ')
  expect(runner.exitCode).toBe(1)
  expect(runner.error).toMatchObject({ code: 'KOPF_RUNNER' })
})

test('KopfRunner does not throw the failure with reraise: false', async () => {
  const runner = start(['run', '--no-such-option'], { reraise: false })
  await expect(runner.until('never')).rejects.toThrow('exit code 2')
  await runner.stop()
  expect([runner.exitCode, runner.stderr]).toEqual([2, expect.stringContaining('--no-such-option')])
})

test('KopfRunner passes the environment on, and stops at the end of its scope', { timeout: 60_000 }, async () => {
  let left: Runner
  {
    await using runner = start(['run', 'operator.ts', '--embedded'], { env: { FAIL: 'yes' } })
    await runner.until('no way')
    left = runner
  }
  expect(left.exitCode).toBe(0)
})

test('KopfRunner waits for a limited time, both for a text and for the end', { timeout: 60_000 }, async () => {
  const runner = start(['run', 'operator.ts', '--embedded', '--apply', object], { env: { HANG: 'yes' }, timeout: '1s' })
  await vi.waitFor(() => expect(runner.output).toContain('And here we are!'), 50_000)
  await expect(runner.until('Never')).rejects.toThrow('its output has no "Never" after 1 s')
  await expect(runner.stop()).rejects.toThrow('it did not stop within 1 s and was killed')
  expect(runner.exitCode).toBeNull()
})
