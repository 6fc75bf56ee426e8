/**
 * The files of the dashboard's page, as tools/build/dashboard.ts writes them: compressed with brotli, and served so. Imported only when the dashboard is
 * on, and reads each file once.
 */
import { readPackagedFile } from '../util/process/package-files.ts'

/** A file of the page. */
export interface Asset {
  readonly body: Uint8Array
  readonly contentType: string
  readonly encoding: 'br'
}

/** The complete list: a path of a request is only compared with it, and never becomes the path of a file. */
const contentTypes: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'dashboard.js': 'text/javascript; charset=utf-8',
  'dashboard.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
}

const known = new Map<string, Asset>()

/** The file with this path, relative to the address of the dashboard; the empty path is the page. Undefined if there is no such file. */
export function readAsset(path: string): Asset | undefined {
  const name = path === '' ? 'index.html' : path
  const found = known.get(name)
  if (found !== undefined) return found
  const contentType = Object.hasOwn(contentTypes, name) ? contentTypes[name]! : undefined
  const body = contentType === undefined ? undefined : readPackagedFile(`dashboard/${name}.br`)
  if (contentType === undefined || body === undefined) return undefined
  const asset: Asset = { body, contentType, encoding: 'br' }
  known.set(name, asset)
  return asset
}
