/** Shared by the tests of activities: requests to the health endpoint, and operators that log in by themselves. */
import http from 'node:http'
import { ConnectionInfo, type Operator, type RunningOperator, type RunOptions } from 'kopf'
import { afterEach } from 'vitest'
import { createLogSink } from '../../src/util/log/log.ts'
import type { Cluster } from '../support/cluster.ts'
import type { Lab } from '../support/lab.ts'

export interface Health {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: JSON of any shape.
  readonly body: any
}

/** Any free port of this machine. */
export const anywhere = 'http://127.0.0.1:0/healthz'

/** The address of the health endpoint, taken from the log. */
export function addressIn(logs: readonly string[]): URL {
  const line = logs.find((one) => one.includes('Serving health status at'))
  if (line === undefined) throw new Error('No endpoint in the log')
  return new URL(line.split(' at ')[1]!)
}

export function ask(url: URL, path: string, options: http.RequestOptions = {}): Promise<Health> {
  return new Promise((resolve, reject) => {
    const request = http.request(new URL(path, url), { agent: false, ...options }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const body = text === '' ? undefined : JSON.parse(text)
        resolve({ status: response.statusCode!, headers: response.headers, text, body })
      })
    })
    request.on('error', reject)
    request.end()
  })
}

export const askLab = (lab: Lab, path: string = '/healthz', options: http.RequestOptions = {}): Promise<Health> =>
  ask(addressIn(lab.logs), path, options)

/** Cluster-admin credentials for the cluster under test. */
export function connectionTo(
  { url, caPem, admin }: Pick<Cluster, 'url' | 'caPem' | 'admin'>,
  options: { priority?: number } = {},
): ConnectionInfo {
  const { token, certPem, keyPem } = admin
  return new ConnectionInfo({
    server: url,
    caData: caPem,
    token,
    certificateData: certPem,
    privateKeyData: keyPem,
    ...options,
  })
}

/** Runs operators that log in by themselves, in real time since they open connections; stops them after each test. */
export class Stage {
  logs: string[] = []
  readonly #running = new Set<RunningOperator>()

  start(operator: Operator, options: RunOptions = {}): Promise<RunningOperator> {
    this.logs = []
    const logging = createLogSink({ format: 'plain', verbose: true, write: (line) => this.logs.push(line.trimEnd()) })
    return operator.start({ logging, ...options }).then((running) => {
      this.#running.add(running)
      return running
    })
  }

  async stopAll(): Promise<void> {
    for (const running of this.#running) await running.stop().catch(() => {})
    this.#running.clear()
  }
}

export function useStage(): Stage {
  const stage = new Stage()
  afterEach(() => stage.stopAll())
  return stage
}
