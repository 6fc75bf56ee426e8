/** Login, health endpoint and end of `kopf run`. */
import { createServer } from 'node:net'
import { startServer } from 'kopf/server'
import { describe, expect, test } from 'vitest'
import { ask } from '../activities/activity-support.ts'
import { RunCommand, useFolder } from './run-support.ts'

const folder = useFolder()

/** Writes an operator with these lines. */
function write(...lines: string[]): void {
  const text = [
    "import { ConnectionInfo, Operator, PermanentError } from 'kopf'",
    'const kopf = new Operator()',
    "kopf.on.event('configmaps', () => {})",
    ...lines,
    'export default kopf',
  ]
  folder.write({ 'operator.ts': text.join('\n') })
}

const run = (args: string[] = [], variables: Record<string, string> = {}) =>
  new RunCommand(folder, ['operator.ts', '--verbose', ...args], variables)

describe('login', { timeout: 30_000 }, () => {
  test('kopf run logs in by the login handlers of the operator', async () => {
    await using server = await startServer()
    const connection = JSON.stringify({ server: server.url, token: server.token, caData: server.ca })
    write(`kopf.on.login(() => new ConnectionInfo(${connection}))`)
    const one = await run(['-A']).until(/Watching configmaps/)
    expect(one.stderr).toContain('Initial authentication has finished.')
    one.send('SIGTERM')
    expect(await one.exit).toBe(0)
  })

  test('kopf run exits with 1 and a hint if the login handlers return no credentials', async () => {
    write('kopf.on.login(function vault() {})')
    const one = run(['-A'])
    expect(await one.exit).toBe(1)
    expect(one.stderr).toMatch(/^kopf: Cannot log in: none of the login handlers \("vault"\)/m)
    expect(one.stderr).not.toMatch(/^\s+at /m)
  })

  test.each([
    ['--kubeconfig', (kubeconfig: string) => ['-A', '--kubeconfig', kubeconfig]],
    ['--embedded', () => ['--embedded']],
  ])('kopf run does not call login handlers with %s', async (_, toArgs) => {
    await using server = await startServer()
    folder.write({ 'dev.kubeconfig': server.kubeconfig })
    write("kopf.on.login(() => { throw new PermanentError('nobody asked') })")
    const one = await run(toArgs('dev.kubeconfig')).until(/Watching configmaps/)
    expect(one.stderr).not.toContain('nobody asked')
  })
})

describe('health endpoint', { timeout: 30_000 }, () => {
  const address = /Serving health status at (http:\S+)/

  test.each([
    ['--liveness', ['--liveness', 'http://127.0.0.1:0/healthz'], {}],
    ['KOPF_RUN_LIVENESS_ENDPOINT', [], { KOPF_RUN_LIVENESS_ENDPOINT: 'http://127.0.0.1:0/healthz' }],
  ])('kopf run serves the health endpoint at the address of %s', async (_, args, variables) => {
    write("kopf.on.probe({ id: 'now' }, () => 'well')")
    const one = await run(['--embedded', ...args], variables).until(address)
    const url = new URL(address.exec(one.stderr)![1]!)
    expect(await ask(url, '/healthz')).toMatchObject({ status: 200, body: { now: 'well' } })
    await expect.poll(async () => (await ask(url, '/readyz')).status, { timeout: 10_000 }).toBe(200)
    one.send('SIGTERM')
    expect(await one.exit).toBe(0)
  })

  test('kopf run exits with 1 if the port of the health endpoint is taken', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as { port: number }
    write()
    const one = run(['--embedded', '-L', `http://127.0.0.1:${port}`])
    expect(await one.exit).toBe(1)
    taken.close()
    expect(one.stderr).toContain(`kopf: Cannot serve health probes at http://127.0.0.1:${port}/: the port is taken`)
  })
})

describe('exit', { timeout: 30_000 }, () => {
  /** Runs long enough that a second signal is not taken for a repetition of the first. */
  const endless = [
    'kopf.on.cleanup(async () => {',
    '  setTimeout(() => console.log("still cleaning"), 700)',
    '  setInterval(() => {}, 1000)',
    '  await new Promise(() => {})',
    '})',
  ]

  test('kopf run exits at once on a second signal', async () => {
    write(...endless)
    const one = await run(['--embedded']).until(/Watching configmaps/)
    one.send('SIGTERM')
    await one.until(/still cleaning/)
    one.send('SIGINT')
    expect(await one.exit).toBe(1)
    expect(one.stderr).toContain(
      'kopf: SIGINT was received a second time: the process ends at once; cut off: cleanup "cleanup"\n',
    )
  })

  test('kopf run ends before the grace period is over, and names the handlers that it cuts off', async () => {
    write(
      "kopf.on.create('secrets', { id: 'slow' }, async () => { console.log('at work'); await new Promise(() => {}) })",
      ...endless,
    )
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'one', namespace: 'default' } }
    folder.write({ 'secret.json': JSON.stringify(secret) })
    const variables = { KOPF_RUN_GRACE_PERIOD: '1s' }
    const one = await run(['--embedded', '--apply', 'secret.json'], variables).until(/at work/)
    one.send('SIGTERM')
    expect(await one.exit).toBe(1)
    // Without a terminal, there is no hint about Ctrl-C.
    expect(one.stderr).toContain("Stopping: 1 handler at work, at most 0.5 s. Waiting for Handler 'slow'.\n")
    expect(one.stderr).toContain(
      "[default/one] Handler 'slow' is cut off: it has not ended within 0.5 seconds of the stop",
    )
    expect(one.stderr).toMatch(
      /^kopf: the operator has not stopped within 0\.9 seconds: the process ends now; cut off: create "slow" of default\/one/m,
    )
  })

  test('kopf run refuses a grace period that is no duration', async () => {
    write()
    const one = run(['--embedded', '--grace-period', 'soon'])
    expect(await one.exit).toBe(2)
    expect(one.stderr).toContain('Expected a number of seconds, or a duration such as 30s or 2m.')
  })

  test('kopf run stops gracefully on two signals in a row, as sent by npx', async () => {
    write('kopf.on.cleanup(() => {})')
    const one = await run(['--embedded']).until(/Watching configmaps/)
    // Different signals, since the kernel merges two pending signals of the same number.
    one.send('SIGINT')
    one.send('SIGTERM')
    expect(await one.exit).toBe(0)
    expect(one.stderr).toContain("Activity 'cleanup' succeeded.")
  })

  test.each([
    ['a signal', 'SIGTERM', []],
    ['a failure', undefined, ["kopf.on.create('pods', { id: 'c' }, () => {})"]],
  ])('kopf run exits after ultimateExitingTimeout if the stop after %s does not end', async (_, signal, more) => {
    write('kopf.settings.process.ultimateExitingTimeout = 0.5', ...endless, ...more)
    await using server = await startServer()
    folder.write({ 'dev.kubeconfig': server.kubeconfig })
    if (signal === undefined) server.api.faults.add({ effect: { type: 'error', status: 403, message: 'you may not' } })
    const one = run(['-A', '--kubeconfig', 'dev.kubeconfig'])
    if (signal !== undefined) {
      await one.until(/Watching configmaps/)
      one.send(signal as NodeJS.Signals)
    }
    expect(await one.exit).toBe(1)
    expect(one.stderr).toContain(
      'kopf: the operator has not stopped within 0.5 seconds: the process ends now; cut off: cleanup "cleanup"\n',
    )
  })

  test('kopf run ends without an error if the load fails because of the signal that stops it', async () => {
    // The failure is known before the signal is handled, as that of a compiler which the signal ends.
    write("process.kill(process.pid, 'SIGTERM')", "throw new Error('write EPIPE')")
    const one = run(['--embedded'])
    expect([await one.exit, one.stderr, one.stdout]).toEqual([0, '', ''])
  })

  test('kopf run stops on a signal while a startup handler is being retried', async () => {
    write('kopf.on.startup({ backoff: 60 }, () => { throw new Error("not yet") })')
    const one = await run(['--embedded']).until(/will try again in 60 seconds/)
    one.send('SIGTERM')
    expect(await one.exit).toBe(0)
  })
})
