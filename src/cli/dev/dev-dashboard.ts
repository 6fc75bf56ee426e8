/**
 * The dashboard of the operator in `kopf dev`: an address that stays over restarts of the operator, and `kopf top` for the key `t`. Each operator process
 * serves a dashboard of its own on any free port; requests go to the one that runs.
 */
import { ConnectionInfo } from '../../client/auth/connection-info.ts'
import { createHttpsTransport, type HttpsTransport } from '../../client/http/transport.ts'
import { KopfError } from '../../errors.ts'
import { systemClock } from '../../util/async/clock.ts'
import type { Transport, TransportRequest, TransportResponse } from '../../util/transport.ts'
import { LocalDashboard } from '../dashboard/local-dashboard.ts'
import { openBrowser } from '../dashboard/open-browser.ts'
import { DashboardClient, type DashboardLogin } from '../dashboard-client.ts'
import { holdOutput, openFullScreen, outputPalette } from '../terminal.ts'
import { TopScreen } from '../top/top-screen.ts'
import { createTopView } from '../top/top-view.ts'
import type { OperatorChild } from './operator-child.ts'

export interface DevDashboardOptions {
  /** The process of the operator that runs. */
  readonly current: () => OperatorChild | undefined
  /** Holds the output of the operator processes back. */
  readonly holdOutput: (isHeld: boolean) => void
  readonly print: (line: string) => void
}

export class DevDashboard implements AsyncDisposable {
  readonly #options: DevDashboardOptions
  readonly #client: DashboardClient
  readonly #upstream: CurrentOperator
  #local!: LocalDashboard
  #top: TopScreen | undefined

  private constructor(options: DevDashboardOptions) {
    this.#options = options
    this.#upstream = new CurrentOperator(options.current)
    const login = () => this.#upstream.login()
    this.#client = new DashboardClient({ transport: this.#upstream, login, clock: systemClock })
  }

  static async start(options: DevDashboardOptions): Promise<DevDashboard> {
    const dashboard = new DevDashboard(options)
    const { client, upstream: transport } = dashboard.#parts
    dashboard.#local = await LocalDashboard.start({ port: 0, transport, client, clock: systemClock })
    return dashboard
  }

  get #parts() {
    return { client: this.#client, upstream: this.#upstream }
  }

  /** A new address that logs one browser in. */
  createLoginUrl(): string {
    return this.#local.createLoginUrl()
  }

  /** Opens the browser. */
  async open(): Promise<void> {
    const url = this.createLoginUrl()
    const isOpen = await openBrowser(url)
    this.#options.print(isOpen ? `Opening ${this.#local.address}` : `Open this address; it works once: ${url}`)
  }

  /** Whether key presses are for `kopf top`. */
  get isTopShown(): boolean {
    return this.#top?.isOpen === true
  }

  press(key: string): void {
    this.#top?.press(key)
  }

  /** Shows `kopf top` until the user quits it. Output of the operator appears afterwards. */
  async showTop(): Promise<void> {
    const { client } = this.#parts
    this.#top = new TopScreen({
      read: (name, query, signal) => client.view(name, query, signal),
      view: createTopView(),
      openScreen: openFullScreen,
      palette: outputPalette(),
      clock: systemClock,
    })
    this.#options.holdOutput(true)
    const held = holdOutput()
    try {
      await this.#top.run(new AbortController().signal)
    } finally {
      this.#top = undefined
      this.#options.holdOutput(false)
      held[Symbol.dispose]()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#top?.quit()
    await this.#local[Symbol.asyncDispose]()
    await this.#upstream.close()
  }
}

interface Upstream {
  readonly child: OperatorChild
  readonly transport: HttpsTransport
  /** The code of the address; undefined once it is used. */
  code: string | undefined
}

/** Sends requests to the dashboard of the operator that runs. */
class CurrentOperator implements Transport {
  readonly #current: () => OperatorChild | undefined
  #upstream: Promise<Upstream> | undefined
  #child: OperatorChild | undefined

  constructor(current: () => OperatorChild | undefined) {
    this.#current = current
  }

  async send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
    const { transport } = await this.#find()
    return await transport.send(request, signal)
  }

  async login(): Promise<DashboardLogin> {
    const upstream = await this.#find()
    const code = upstream.code ?? readLoginUrl(await upstream.child.createLoginUrl()).code
    upstream.code = undefined
    return { code }
  }

  async close(): Promise<void> {
    await (await this.#upstream?.catch(() => undefined))?.transport.close()
  }

  /** The operator that runs. After a restart, connections to the previous one are closed. */
  #find(): Promise<Upstream> {
    const child = this.#current()
    if (child === undefined) return Promise.reject(unreachable('none is running; the terminal of kopf dev says why'))
    if (child !== this.#child) {
      void this.close()
      this.#child = child
      this.#upstream = this.#connect(child)
    }
    const upstream = this.#upstream!
    return upstream.catch((error) => {
      if (this.#upstream === upstream) this.#child = undefined
      throw error
    })
  }

  async #connect(child: OperatorChild): Promise<Upstream> {
    const { server, code } = readLoginUrl(await child.createLoginUrl())
    const transport = createHttpsTransport(new ConnectionInfo({ server, trustEnv: false }))
    return { child, transport, code }
  }
}

function readLoginUrl(url: string | undefined): { readonly server: string; readonly code: string } {
  const [, server, code] = /^(http:[^#]*?)\/?#code=(.+)$/.exec(url ?? '') ?? []
  if (server !== undefined && code !== undefined) return { server, code }
  throw unreachable('it does not answer, or its startup handlers have set another settings.dashboard.address')
}

function unreachable(why: string): KopfError {
  return new KopfError('KOPF_DASHBOARD_UNREACHABLE', `Cannot show the operator: ${why}`)
}
