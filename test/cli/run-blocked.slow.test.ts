/** `kopf run` with code that blocks the event loop: it is named, and signals work all the same. */
import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { RunCommand, useFolder } from './run-support.ts'

const folder = useFolder()

/** The body is the third line of the file. */
function run(body: string, ...args: string[]): RunCommand {
  folder.write({
    'operator.ts': [
      "import { Operator } from 'kopf'; import { execSync } from 'node:child_process'",
      'const kopf = new Operator({ settings: { process: { blockedExitTimeout: 1 } } })',
      body,
      'export default kopf',
    ].join('\n'),
    'objects.yaml': '{apiVersion: v1, kind: ConfigMap, metadata: {name: first, namespace: default}}',
  })
  const common = ['operator.ts', '--embedded', '--apply', 'objects.yaml', '-n', 'default']
  return new RunCommand(folder, [...common, ...args])
}

const handler = (statements: string) =>
  `kopf.on.create('configmaps', { id: 'make' }, async () => { ${statements}; console.log('begun'); for (;;); })`

function expectNothingCompiledLeft(): void {
  expect(readdirSync(folder.temporary).filter((name) => name.startsWith('kopf-run-'))).toEqual([])
}

describe('a handler that loops for ever', { timeout: 30_000 }, () => {
  test.each(['SIGINT', 'SIGTERM'] as const)('is named, and %s ends the process with exit code 1', async (signal) => {
    const one = await run(handler('')).until(/begun/)
    one.send(signal)
    expect(await one.exit).toBe(1)
    expect(one.stderr).toMatch(
      /\[ERROR {3}\] \[default\/first\] Handler 'make' has blocked the event loop for [\d.]+ seconds at .*operator\.ts:3:\d+\)?, and the process was told to stop: the process ends unfinished\.\n$/,
    )
    expectNothingCompiledLeft()
  })

  test('is named while it loops, also after an await, in JSON', async () => {
    const one = run(handler('await new Promise((resolve) => setTimeout(resolve, 10))'), '--log-format', 'json')
    await one.until(/Handler 'make' blocks the event loop at .*operator\.ts:3.*"name":"first"/)
    one.send('SIGTERM')
    expect(await one.exit).toBe(1)
    for (const line of one.stderr.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('message')
  })

  test('does not wait for a second signal', async () => {
    const one = run(handler('kopf.settings.process.blockedExitTimeout = null'))
    await one.until(/Handler 'make' blocks the event loop/)
    one.send('SIGTERM')
    // Longer than what counts as one signal that came twice; the loop of the command cannot tell of it.
    await new Promise((resolve) => setTimeout(resolve, 700))
    one.send('SIGTERM')
    expect(await one.exit).toBe(1)
    expect(one.stderr).toMatch(/Handler 'make' has blocked .*, and a second signal has come/)
  })

  test('is named when the loop begins during the stop', async () => {
    const begin = "kopf.on.event('configmaps', () => {})"
    const one = await run(`${begin}; kopf.on.cleanup({ id: 'clean' }, () => { for (;;); })`, '-v').until(/Watching/)
    one.send('SIGTERM')
    expect(await one.exit).toBe(1)
    expect(one.stderr).toMatch(/Activity 'clean' has blocked the event loop/)
  })
})

describe('other code that blocks', { timeout: 30_000 }, () => {
  test('at the top level of a file can be stopped', async () => {
    const one = await run("console.log('begun'); for (;;);").until(/begun/)
    one.send('SIGINT')
    expect(await one.exit).toBe(1)
    expect(one.stderr).toMatch(/Code outside of handlers has blocked the event loop for .* at .*operator\.ts:3/)
    expectNothingCompiledLeft()
  })

  test('in a call that cannot be interrupted is named, and the process is killed', async () => {
    const wait =
      "kopf.on.create('configmaps', { id: 'make' }, () => { console.log('begun'); execSync('exec sleep 60') })"
    const one = await run(wait).until(
      /Handler 'make' blocks the event loop\. It is in a call that cannot be interrupted/,
    )
    one.send('SIGTERM')
    expect(await one.exit).toBe('SIGKILL')
    expect(one.stderr).toMatch(
      /Handler 'make' has blocked the event loop, and the process was told to stop: the process is/,
    )
  })

  test('in a call that cannot be interrupted is named in the format of configureLogging of the file', async () => {
    const wait =
      "kopf.on.create('configmaps', { id: 'make' }, () => { console.log('begun'); execSync('exec sleep 60') })"
    const one = await run(`;(await import('kopf')).configureLogging({ format: 'json' })\n${wait}`).until(/blocks the/)
    expect(JSON.parse(one.stderr.trimEnd().split('\n').at(-1)!)).toMatchObject({
      message: expect.stringContaining("Handler 'make' blocks the event loop. It is in a call that cannot"),
      severity: 'warn',
    })
    one.send('SIGTERM')
    expect(await one.exit).toBe('SIGKILL')
  })
})

test('what blocks for a moment only is warned of, and the stop is in order', { timeout: 30_000 }, async () => {
  const body = [
    "kopf.on.create('configmaps', { id: 'make' }, () => { console.log('begun'); const end = Date.now() + 1500; while (Date.now() < end); })",
    "kopf.on.cleanup(({ logger }) => logger.info('cleaned up'))",
    'kopf.settings.process.blockedExitTimeout = 20',
  ]
  const one = await run(body.join('; ')).until(/begun/)
  one.send('SIGTERM')
  expect(await one.exit).toBe(0)
  expect(one.stderr).toMatch(/cleaned up/)
  expect(one.stderr).toMatch(/Handler 'make' has blocked the event loop for 1\.\d seconds: nothing else can run/)
})
