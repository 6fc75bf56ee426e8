/** An operator as a process of its own, with what it has used, and the gadgets that it handles. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Access } from '../lib/connection.ts'
import { gadgetBody, gadgetsPath } from '../lib/gadgets.ts'
import { check } from '../lib/measure.ts'
import { openConnections, sendAll } from '../lib/requests.ts'
import { forkBench, nextMessage } from '../lib/targets.ts'
import type { OperatorMessage, Ready, Usage } from './operator.ts'

export class MeasuredOperator {
  /** The address with a code that logs in once, if the dashboard is on. */
  readonly loginUrl: string | undefined
  readonly #process: ReturnType<typeof forkBench>
  readonly #access: Access
  #created = 0

  static async start(access: Access, settings: object): Promise<MeasuredOperator> {
    const operator = forkBench(new URL('operator.ts', import.meta.url))
    operator.send({ access, settings } satisfies OperatorMessage)
    const { loginUrl } = await nextMessage<Ready>(operator)
    return new MeasuredOperator(operator, access, loginUrl)
  }

  private constructor(process: ReturnType<typeof forkBench>, access: Access, loginUrl: string | undefined) {
    this.#process = process
    this.#access = access
    this.loginUrl = loginUrl
  }

  /** `collect`: after a garbage collection. */
  usage(message: 'usage' | 'collect' = 'usage'): Promise<Usage> {
    this.#process.send(message)
    return nextMessage<Usage>(this.#process)
  }

  /** Creates gadgets, waits until they are handled, and returns the CPU per gadget in microseconds. */
  async create(count: number, connections: number): Promise<number> {
    const before = await this.usage()
    const open = await openConnections(this.#access, connections)
    const requests = Array.from({ length: count }, (_, index) => ({
      method: 'POST',
      path: gadgetsPath,
      body: gadgetBody(`gadget-${this.#created + index}`, index),
    }))
    await sendAll(open, requests, 201)
    for (const connection of open) connection.close()
    this.#created += count
    while ((await this.usage()).handled < this.#created) await sleep(100)
    // The last write and its echo.
    await sleep(200)
    return ((await this.usage()).cpuMicroseconds - before.cpuMicroseconds) / count
  }

  /** The share of a core that the operator uses for some seconds. */
  async share(seconds: number): Promise<number> {
    const [before, beganMs] = [await this.usage(), performance.now()]
    await sleep(seconds * 1000)
    const after = await this.usage()
    check(after.handled === before.handled, 'the operator is not idle')
    return (after.cpuMicroseconds - before.cpuMicroseconds) / 1000 / (performance.now() - beganMs)
  }

  async stop(): Promise<void> {
    const exited = once(this.#process, 'exit')
    this.#process.send('stop')
    await exited
  }
}
