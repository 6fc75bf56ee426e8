/** An operator with one handler, as a process of its own. Answers the messages of main.ts with what it has used so far. */
import { ConnectionInfo, Operator } from 'kopf'
import type { Access } from '../lib/connection.ts'
import type { Usage } from './main.ts'

export interface OperatorMessage {
  readonly access: Access
  /** The settings that the measured feature needs. */
  readonly settings: object
}

process.once('message', async ({ access, settings }: OperatorMessage) => {
  const kopf = new Operator({ settings: { posting: { enabled: false }, ...settings } })
  let handled = 0
  kopf.on.create(['bench.example.com', 'v1', 'gadgets'], { id: 'make' }, ({ spec, patch }) => {
    patch.status['observed'] = spec['size']
    handled += 1
  })
  const connection = new ConnectionInfo({
    server: access.url,
    caData: access.caPem,
    ...(access.token === undefined ? {} : { token: access.token }),
  })
  const quiet = { minimumLevel: 'error', log: () => {} } as const
  const running = await kopf.start({ connection, namespaces: ['default'], logging: quiet })
  await running.ready
  process.on('message', async (message) => {
    if (message === 'stop') {
      await running.stop()
      process.disconnect()
      return
    }
    if (message === 'collect') for (const _ of [1, 2]) (globalThis as { gc?: () => void }).gc?.()
    const { user, system } = process.cpuUsage()
    const { rss, heapUsed } = process.memoryUsage()
    process.send!({ handled, cpuMicroseconds: user + system, rss, heap: heapUsed } satisfies Usage)
  })
  process.send!('ready')
})
