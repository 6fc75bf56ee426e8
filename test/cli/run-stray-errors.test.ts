/** Unhandled rejections and uncaught errors in `kopf run`: logged in the log format, and the operator stops gracefully. */
import { describe, expect, test } from 'vitest'
import { RunCommand, useFolder } from './run-support.ts'

const folder = useFolder()

const run = (body: string, ...args: string[]) => {
  folder.write({
    'operator.ts': [
      "import { Operator } from 'kopf'",
      'const kopf = new Operator()',
      body,
      "kopf.on.cleanup(({ logger }) => logger.info('cleaned up'))",
      'export default kopf',
    ].join('\n'),
    'objects.yaml': '{apiVersion: v1, kind: ConfigMap, metadata: {name: first, namespace: default}}',
  })
  const common = ['operator.ts', '--embedded', '--apply', 'objects.yaml', '-n', 'default']
  return new RunCommand(folder, [...common, ...args])
}

const linesOf = ({ stderr }: RunCommand) =>
  stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

describe('unhandled errors', { timeout: 30_000 }, () => {
  test.each([
    [
      'a rejected promise',
      "Promise.reject(new TypeError('boom'))",
      "Handler 'make' left behind a promise that was rejected: boom. The operator stops.",
    ],
    [
      'a rejected promise after an await',
      "void (async () => { await 1; throw new TypeError('boom') })()",
      "Handler 'make' left behind a promise that was rejected: boom. The operator stops.",
    ],
    [
      'an error in a timer',
      "setTimeout(() => { throw new TypeError('boom') }, 10)",
      "Handler 'make' left behind code that threw an error: boom. The operator stops.",
    ],
  ])('an unhandled error is one JSON line with its handler and object: %s', async (_, statement, message) => {
    const one = run(`kopf.on.create('configmaps', { id: 'make' }, () => { ${statement} })`, '--log-format', 'json')
    expect(await one.exit).toBe(1)
    const lines = linesOf(one)
    expect(lines.filter((line) => String(line['message']).includes('boom'))).toEqual([
      expect.objectContaining({
        message: expect.stringContaining(message),
        handler: 'make',
        exc_info: expect.stringMatching(/^TypeError: boom\n\s+at .*operator\.ts:3/),
        object: expect.objectContaining({ name: 'first', namespace: 'default' }),
        severity: 'error',
      }),
    ])
    expect(lines.some(({ message: text }) => text === 'cleaned up')).toBe(true)
  })

  test('an uncaught error outside of handlers stops the operator', async () => {
    const timer = "setTimeout(() => { throw new Error('outside') }, 10)"
    const one = run(`kopf.on.event('configmaps', () => {})\nkopf.on.startup(async () => {})\n${timer}`)
    expect(await one.exit).toBe(1)
    expect(one.stderr).toMatch(
      /\[ERROR {3}\] An error was thrown, and nothing caught it: outside\. The operator stops\./,
    )
  })

  test('an unhandled rejection is left to a listener of the user', async () => {
    const listen = "process.on('unhandledRejection', (error) => console.log('mine: ' + error.message))"
    const handler = "kopf.on.create('configmaps', () => { Promise.reject(new Error('boom')) })"
    const one = await run(`${listen}\n${handler}`).until(/mine: boom/)
    await one.until(/Creation is processed/)
    one.send('SIGTERM')
    expect(await one.exit).toBe(0)
  })
})
