/** Runs examples as users do: the commands of the README, with the actual programs, on the real control plane. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { inject } from 'vitest'
import { systemClock } from '../../src/util/async/clock.ts'
import { parseYaml } from '../../src/util/yaml.ts'
import { KopfCommand } from '../cli/run-support.ts'
import { Api } from '../support/api.ts'
import { crdsPath, unconverted } from '../support/crds.ts'
import type { Reply } from '../support/lab.ts'
import { copyExample } from './copies.ts'
import { Terminal } from './shown.ts'
import type { Run, Stage } from './stage.ts'

interface Listed {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

const mergePatch = { headers: { 'content-type': 'application/merge-patch+json' } }
const patienceMs = 60_000

export class RealStage implements Stage {
  readonly #folder: string
  readonly #running = new Set<Run>()
  readonly #api: Api

  private constructor(folder: string) {
    this.#folder = folder
    const { url, caPem, admin } = inject('realCluster')
    this.#api = new Api({ url, caPem, credentials: admin })
  }

  static open(folder: string): RealStage {
    return new RealStage(copyExample(folder))
  }

  async prepare(shell: readonly string[]): Promise<void> {
    for (const command of shell.filter((line) => line.includes('kubectl apply'))) {
      // The server needs a moment to serve a new CRD.
      await this.until(async () => !/^error|no matches/m.test(await this.answer(command)))
    }
  }

  async run(command: string): Promise<Run> {
    const folder = { path: this.#folder, temporary: this.#folder, command: [inject('command')] }
    const args = command.replace('npx kopf ', '').split(' ')
    const process = new KopfCommand(folder, args, this.#variables())
    const run = {
      terminal: new Terminal(() => process.stderr.trimEnd().split('\n')),
      stop: async () => {
        this.#running.delete(run)
        process.send('SIGINT')
        await process.exit
      },
    }
    this.#running.add(run)
    return run
  }

  answer(command: string): Promise<string> {
    const words = command.replaceAll('npx kopf ', `${process.execPath} ${inject('command')} `)
    const options = { cwd: this.#folder, env: { ...process.env, ...this.#variables() } }
    return new Promise((settle) => {
      execFile('bash', ['-c', `(${words}) 2>&1`], options, (_, output) => settle(output))
    })
  }

  #variables(): Record<string, string> {
    const { kubeconfigs, kubectl } = inject('realCluster')
    return {
      KUBECONFIG: kubeconfigs.admin,
      KOPF_RUN_LOG_FORMAT: 'short',
      PATH: `${dirname(kubectl)}:${process.env['PATH']}`,
    }
  }

  async call(method: string, path: string, body?: object): Promise<Reply> {
    const options = { ...(body === undefined ? {} : { body }), ...(method === 'PATCH' ? mergePatch : {}) }
    return (await this.#api.request(method, path, options)) as unknown as Reply
  }

  async until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    for (const endMs = Date.now() + patienceMs; !(await isSo()); await systemClock.sleep(50)) {
      if (Date.now() > endMs) throw new Error('It never came to be')
    }
  }

  /** Removes the objects of the example, except those that all examples share. */
  async close(): Promise<void> {
    for (const run of this.#running) await run.stop()
    const file = join(this.#folder, 'object.yaml')
    const objects = existsSync(file) ? (parseYaml(readFileSync(file, 'utf8')) as Listed[]) : []
    for (const object of objects.toReversed()) await this.#remove(object)
    const kinds = new Set(objects.filter(({ apiVersion }) => apiVersion.startsWith('example.com/')).map(toPlural))
    for (const plural of kinds) await this.#removeDefinition(`${plural}.example.com`)
    rmSync(this.#folder, { recursive: true })
    this.#api.close()
  }

  /** Removes the shared objects after the last example, since they would disturb other suites. */
  static async clear(): Promise<void> {
    const stage = new RealStage('')
    for (const plural of ['kopfexamples', 'kopfpeerings', 'clusterkopfpeerings']) {
      await stage.#removeDefinition(`${plural}.kopf.dev`)
    }
    stage.#api.close()
  }

  async #remove(object: Listed): Promise<void> {
    const { apiVersion, kind, metadata } = object
    const { name, namespace = 'default' } = metadata
    if (kind === 'CustomResourceDefinition') return
    const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    const path = `${root}/namespaces/${namespace}/${toPlural(object)}/${name}`
    await this.call('PATCH', path, { metadata: { finalizers: null } })
    await this.call('DELETE', path)
    await this.until(async () => (await this.call('GET', path)).status === 404)
  }

  async #removeDefinition(name: string): Promise<void> {
    const path = `${crdsPath}/${name}`
    await this.call('PATCH', path, unconverted)
    await this.call('DELETE', path)
    await this.until(async () => (await this.call('GET', path)).status === 404)
  }
}

/** The plural of the kinds in the examples; none of them is irregular. */
function toPlural({ kind }: Listed): string {
  return `${kind.toLowerCase()}s`
}
