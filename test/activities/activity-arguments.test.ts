/** Arguments of activity handlers: startup, login, probe, cleanup. */
import { Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { useCluster } from '../support/cluster.ts'
import { addressIn, anywhere, ask, connectionTo, useStage } from './activity-support.ts'

const cluster = useCluster()
const stage = useStage()

const kinds = ['startup', 'login', 'probe', 'cleanup'] as const

test('activity handlers of all types get the settings, the indices, a client and one memo of the operator', async () => {
  const kopf = new Operator({ memo: () => ({ made: 'by the operator' }) })
  const podsOf = kopf.index('pods', ({ name }) => [[name, 1]])
  const seen: Record<string, Record<string, unknown>[]> = {}
  for (const kind of kinds) {
    kopf.on[kind]({ id: kind, param: `of ${kind}` }, (args) => {
      seen[kind] = [...(seen[kind] ?? []), { ...args, wasAborted: args.signal.aborted }]
      args.logger.info(`A word of ${kind}`)
      args.memo.made += `, ${kind}`
      if (args.retry === 0) throw new TemporaryError('once more', { delay: 0.05 })
      return kind === 'login' ? connectionTo(cluster) : undefined
    })
  }
  const running = await stage.start(kopf as never, { namespaces: [cluster.namespace], livenessEndpoint: anywhere })
  await running.ready
  await ask(addressIn(stage.logs), '/healthz')
  await running.stop()
  for (const kind of kinds) {
    expect(seen[kind]!.map(({ retry }) => retry)).toEqual([0, 1])
    for (const args of seen[kind]!) {
      expect(args).toMatchObject({
        settings: kopf.settings,
        param: `of ${kind}`,
        started: expect.any(Date),
        runtime: expect.any(Number),
        signal: expect.any(AbortSignal),
        wasAborted: false,
        indices: { index: podsOf },
        client: { list: expect.any(Function) },
      })
    }
    expect(stage.logs).toContain(`A word of ${kind}`)
    const [first, second] = seen[kind]!
    expect(second!['started']).toEqual(first!['started'])
    expect(second!['runtime'] as number).toBeGreaterThan(first!['runtime'] as number)
  }
  const memos = kinds.map((kind) => seen[kind]![0]!['memo'])
  expect(new Set(memos).size).toBe(1)
  expect(memos[0]).toMatchObject({
    made: 'by the operator, startup, startup, login, login, probe, probe, cleanup, cleanup',
  })
})
