/**
 * kubectl in the second terminal of the tutorial: the real program, or a replacement in Node for the commands that the pages use, with
 * the same output. test/real/tutorial-with-kubectl.test.ts compares the output of the real program with the pages.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Body, Tree } from '../support/answers.ts'
import { Api } from '../support/api.ts'

export type Kubectl = (args: readonly string[]) => Promise<string>

export function realKubectl(program: string, kubeconfig: string): Kubectl {
  return async (args) => {
    const env = { ...process.env, KUBECONFIG: kubeconfig }
    const { stdout, stderr } = await promisify(execFile)(program, args, { env, timeout: 60_000 })
    return stdout + stderr
  }
}

const kindsByShortName: Readonly<Record<string, { readonly path: string; readonly title: string }>> = {
  evc: {
    path: '/apis/example.com/v1/namespaces/default/ephemeralvolumeclaims',
    title: 'ephemeralvolumeclaim.example.com',
  },
  pvc: { path: '/api/v1/namespaces/default/persistentvolumeclaims', title: 'persistentvolumeclaim' },
}

export function standInForKubectl(kubeconfig: string): Kubectl {
  return async ([verb, kinds, ...rest]) => {
    const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8'))
    const caPem = Buffer.from(clusters[0].cluster['certificate-authority-data'], 'base64').toString()
    const api = new Api({ url: clusters[0].cluster.server, credentials: users[0].user, caPem })
    try {
      return verb === 'get' ? await get(api, kinds!.split(','), rest) : await remove(api, kinds!, rest[0]!)
    } finally {
      api.close()
    }
  }
}

async function get(api: Api, kinds: readonly string[], [name, , jsonpath]: readonly string[]): Promise<string> {
  if (name !== undefined) {
    const { body } = await api.get(`${findKind(kinds[0]!).path}/${name}`)
    return jsonpath!.slice('jsonpath='.length).replaceAll(/\{\.([^}]*)\}/g, (_, path: string) => look(body, path))
  }
  const tables = await Promise.all(kinds.map((kind) => listTable(api, findKind(kind).path)))
  const text = tables.filter((table) => table.length > 1).map(formatTable)
  return text.length === 0 ? 'No resources found in default namespace.\n' : text.join('\n')
}

async function remove(api: Api, kind: string, name: string): Promise<string> {
  const { path, title } = findKind(kind)
  const { status } = await api.delete(`${path}/${name}`)
  if (status !== 200) throw new Error(`Cannot delete ${kind} ${name}: ${status}`)
  return `${title} "${name}" deleted from default namespace\n`
}

function findKind(shortName: string): { readonly path: string; readonly title: string } {
  const kind = kindsByShortName[shortName]
  if (kind === undefined) throw new Error(`The pages have not asked for ${shortName} so far: where is it?`)
  return kind
}

function look(body: Body, path: string): string {
  const steps = path.replaceAll(/\[(\d+)\]/g, '.$1').split('.')
  const value = steps.reduce<unknown>((tree, step) => (tree as Tree | undefined)?.[step], body)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

async function listTable(api: Api, path: string): Promise<string[][]> {
  const { body } = await api.get(path, undefined, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' })
  const { columnDefinitions, rows } = body as unknown as {
    columnDefinitions: { name: string; priority: number }[]
    rows: { cells: unknown[] }[]
  }
  const isShown = (_: unknown, index: number) => columnDefinitions[index]!.priority === 0
  const heads = columnDefinitions.filter(isShown).map(({ name }) => name.toUpperCase())
  return [heads, ...rows.map(({ cells }) => cells.filter(isShown).map(String))]
}

function formatTable(table: readonly string[][]): string {
  const widths = table[0]!.map((_, index) => Math.max(...table.map((row) => row[index]!.length)))
  const formatRow = (row: readonly string[]) => row.map((cell, index) => cell.padEnd(widths[index]!)).join('   ')
  return table.map((row) => `${formatRow(row).trimEnd()}\n`).join('')
}
