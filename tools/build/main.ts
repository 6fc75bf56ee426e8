/**
 * `npm run build`: builds the published package into `dist/`, and links it into `node_modules`, so that projects in this repository
 * with a package.json of their own (cookbook/) find the package `kopf` and its command without being installed.
 */
import { chmodSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { buildPackage } from './package.ts'

await buildPackage('dist')
chmodSync(join('dist', 'cli', 'main.js'), 0o755)
replaceLink('..', join('node_modules', 'kopf'))
replaceLink(join('..', '..', 'dist', 'cli', 'main.js'), join('node_modules', '.bin', 'kopf'))

function replaceLink(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true })
  rmSync(path, { force: true })
  symlinkSync(target, path)
}
