/** An operator with one handler, as a process of its own. Answers the messages of measured-operator.ts with what it has used so far. */
import { ConnectionInfo, Operator } from 'kopf'
import type { Access } from '../lib/connection.ts'

/** What an operator has used since its start. */
export interface Usage {
  readonly handled: number
  readonly cpuMicroseconds: number
  readonly rss: number
  readonly heap: number
}

export interface OperatorMessage {
  readonly access: Access
  /** The settings that the measured feature needs. */
  readonly settings: { readonly dashboard?: object }
}

export interface Ready {
  /** The address of the dashboard with a code, if it is on. */
  readonly loginUrl: string | undefined
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
  let loginUrl: string | undefined
  const log = ({ message }: { readonly message: string }) => {
    loginUrl ??= /^Serving the dashboard at (\S+)/.exec(message)?.[1]
  }
  // Only the dashboard writes a line that is needed.
  const minimumLevel = settings.dashboard === undefined ? 'error' : 'info'
  const running = await kopf.start({ connection, namespaces: ['default'], logging: { minimumLevel, log } })
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
  process.send!({ loginUrl } satisfies Ready)
})
