/** `kopf explain --history`, run as a command against the dashboard of a running operator. */
import { Operator, TemporaryError } from 'kopf'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { dashboardOf } from '../../src/run/options.ts'
import { useCleanLab } from '../support/handled.ts'
import { Folder, KopfCommand, stopCommands } from './run-support.ts'

const lab = useCleanLab()
const folder = new Folder()
let loginUrl: () => string

beforeEach(async () => {
  const kopf = new Operator({ settings: { dashboard: { address: 'http://127.0.0.1:0' } } })
  kopf.on.create(lab.widgets, { id: 'provision' }, ({ patch }) => {
    patch['status'] = { phase: 'Waiting' }
    throw new TemporaryError('no quota', { delay: '1h' })
  })
  const dashboard = dashboardOf(await lab.start(kopf))!
  loginUrl = () => dashboard.createLoginUrl()!
  await lab.create('orders', { spec: { size: 1 } })
  await lab.untilObject('orders', ({ status }) => (status as { phase?: string } | undefined)?.phase === 'Waiting')
})
afterEach(stopCommands)
afterAll(() => folder.remove())

async function history(...args: string[]): Promise<{ exit: number | string; stdout: string; stderr: string }> {
  const one = new KopfCommand(folder, ['explain', ...args, '--history', '--url', loginUrl()])
  return { exit: await one.exit, stdout: one.stdout, stderr: one.stderr }
}

describe('kopf explain --history', { timeout: 60_000 }, () => {
  test('kopf explain --history shows what has happened to an object, without a cluster and without its namespace', async () => {
    const { exit, stdout, stderr } = await history('widgets', 'orders')
    expect([exit, stderr]).toEqual([0, ''])
    expect(stdout).toContain(`widgets.v1.${lab.group} ${lab.namespace}/orders`)
    expect(stdout).toMatch(
      /It is in the state "retrying": provision: no quota; the next attempt is due in (1 hour|\d+ minutes)\./,
    )
    expect(stdout).toContain('Decision: call the handlers that are due for create.')
    expect(stdout).toMatch(
      /Handler "provision" \(create\), attempt 1: has failed after \d+ ms, and is called again in 1 hour: no quota\./,
    )
    expect(stdout).toContain('add status.phase: "Waiting"  (by "provision")')
  })

  test('kopf explain --history prints the entries as JSON', async () => {
    const { exit, stdout } = await history(`widget/orders`, '-n', lab.namespace, '-o', 'json')
    expect(exit).toBe(0)
    const { object, timeline, dropped } = JSON.parse(stdout)
    expect([object.name, dropped, timeline[0].type]).toEqual(['orders', 0, 'state'])
  })

  test.each([
    [['pods', 'orders'], 'the operator serves no such resource; name one of: widgets.v1.'],
    [['widgets', 'nothing'], 'the operator knows no widgets.v1.'],
  ])('kopf explain %j --history says what to do', async (args, message) => {
    const { exit, stderr } = await history(...args)
    expect(exit).toBe(1)
    expect(stderr).toContain(message)
  })

  test('options about the dashboard are refused without --history', async () => {
    const one = new KopfCommand(folder, ['explain', 'widgets', 'orders', '--url', 'http://127.0.0.1:1'])
    expect(await one.exit).toBe(2)
    expect(one.stderr).toContain("option '--url' cannot be used without '--history'")
  })
})
