/** `kopf run --metrics`: the option, its environment variables, and what it serves. */
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { scrape } from '../metrics/metrics-support.ts'
import { KopfCommand, useFolder } from './run-support.ts'

const folder = useFolder()

function run(args: readonly string[], variables: Readonly<Record<string, string>> = {}): KopfCommand {
  const text =
    "import { Operator } from 'kopf'\nconst kopf = new Operator()\nkopf.on.event('pods', () => {})\nexport default kopf\n"
  folder.write({ 'operator.mjs': text })
  return new KopfCommand(folder, ['run', 'operator.mjs', '--embedded', '--all-namespaces', ...args], variables)
}

const address = /Serving metrics at (https?:\/\/\S+?\/metrics)/

test.each<[string, string[], Record<string, string>]>([
  ['--metrics', ['--metrics', '127.0.0.1:0'], {}],
  ['KOPF_RUN_METRICS', [], { KOPF_RUN_METRICS: 'localhost:0' }],
  ['plain HTTP that is allowed', ['--metrics=http://0.0.0.0:0', '--metrics-plain-http'], {}],
])('kopf run serves metrics with %s', { timeout: 30_000 }, async (_, args, variables) => {
  const one = await run(args, variables).until(address)
  const url = new URL(address.exec(one.stderr)![1]!.replace('0.0.0.0', '127.0.0.1'))
  expect((await scrape(url)).status).toBe(200)
  one.send('SIGTERM')
  expect(await one.exit).toBe(0)
})

test('kopf run serves metrics over HTTPS, for which a client needs a token', { timeout: 30_000 }, async () => {
  const one = await run(['--metrics', 'https://127.0.0.1:0']).until(address)
  const url = new URL(address.exec(one.stderr)![1]!)
  expect([url.protocol, (await scrape(url)).status]).toEqual(['https:', 401])
})

test.each([
  [['--metrics', 'http://0.0.0.0:0'], 1, 'every program that reaches the port could read them; use https'],
  [
    ['--metrics', 'nonsense:port'],
    2,
    'Expected an address such as :8443, localhost:8443 or https://0.0.0.0:8443/metrics.',
  ],
  [['--metrics', 'other.ts'], 2, 'Put the files before --metrics, or write --metrics=:8443.'],
])('kopf run refuses %j', { timeout: 30_000 }, async (args, code, message) => {
  const one = run(args)
  expect([await one.exit, one.stderr]).toEqual([code, expect.stringContaining(message)])
})

test('kopf run exits with 1 if the port of the metrics is taken', { timeout: 30_000 }, async () => {
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  const { port } = taken.address() as { port: number }
  const one = run(['--metrics', `127.0.0.1:${port}`])
  expect(await one.exit).toBe(1)
  taken.close()
  expect(one.stderr).toContain(`kopf: Cannot serve metrics at http://127.0.0.1:${port}/metrics: the port is taken`)
})
