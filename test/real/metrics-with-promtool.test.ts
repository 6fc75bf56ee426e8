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
}, 900_000)

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

/**
 * Names that come from other projects: those of client-go, controller-runtime and prom-client are kept, so that their dashboards work. promtool
 * would like other suffixes for some of them.
 */
const inherited = /^(controller_runtime|workqueue|rest_client|leader_election|process|nodejs)_/

test('promtool accepts the metrics of a running operator', { timeout: 60_000 }, async () => {
  const { text } = await scrape(await serveEverything(lab))
  expect(text).toContain('kopf_build_info')
  const { code, output } = await promtool(['check', 'metrics', '--extended'], text)
  const complaints = output
    .split('\n')
    .filter((line) => /^[a-z_]+ .*(should|must|use )/.test(line) && !inherited.test(line))
  expect(complaints).toEqual([])
  // 3: only complaints about names. 1: the text cannot be parsed.
  expect([0, 3]).toContain(code)
})
