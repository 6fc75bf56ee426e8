/** promtool of Prometheus checks the alerts that `kopf manifests` prints, and the metrics of a running operator. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensurePromtool } from '../../tools/promtool/promtool.ts'
import { scrape } from '../metrics/metrics-support.ts'
import { alerts, serveEverything } from '../metrics/monitored-operator.ts'
import { useLab } from '../support/lab.ts'

const lab = useLab({ hasSockets: true })
let program: string
let folder: string

beforeAll(async () => {
  program = await ensurePromtool()
  folder = await mkdtemp(join(tmpdir(), 'kopf-promtool-'))
}, 1_800_000)

afterAll(() => rm(folder, { recursive: true, force: true }))

interface Result {
  readonly code: number
  readonly output: string
}

async function promtool(args: readonly string[], input: string = ''): Promise<Result> {
  const running = promisify(execFile)(program, args)
  running.child.stdin!.end(input)
  return running.then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    ({ code, stdout, stderr }) => ({ code, output: stdout + stderr }),
  )
}

test('promtool accepts the alerts', async () => {
  const file = join(folder, 'rules.json')
  await writeFile(file, JSON.stringify({ groups: [{ name: 'operator', rules: alerts }] }))
  expect(await promtool(['check', 'rules', '--lint-fatal', file])).toEqual({
    code: 0,
    output: expect.stringContaining(`SUCCESS: ${alerts.length} rules found`),
  })
})

test('promtool refuses a broken rule, so that the test above can fail', async () => {
  const file = join(folder, 'broken.json')
  const rules = [{ alert: 'Broken', expr: 'sum by (' }]
  await writeFile(file, JSON.stringify({ groups: [{ name: 'operator', rules }] }))
  expect(await promtool(['check', 'rules', file])).toMatchObject({ code: 1 })
})

test('promtool accepts the metrics of a running operator', { timeout: 60_000 }, async () => {
  const { text } = await scrape(await serveEverything(lab))
  expect(text).toContain('kopf_build_info')
  expect(await promtool(['check', 'metrics'], text)).toEqual({ code: 0, output: '' })
  const broken = await promtool(['check', 'metrics'], `${text}kopf_calls{ 1\n`)
  expect([broken.code, broken.output]).toEqual([1, expect.stringContaining('error while linting')])
})
