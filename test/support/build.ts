/** Builds the published package into a temporary folder inside the project, so that Node finds its dependencies. */
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buildPackage } from '../../tools/build/package.ts'

export interface Build extends Disposable {
  /** The folder of package.json. */
  readonly folder: string
}

export async function buildForTests(): Promise<Build> {
  mkdirSync('.vitest', { recursive: true })
  const folder = mkdtempSync(resolve('.vitest', 'build-'))
  copyFileSync('package.json', join(folder, 'package.json'))
  cpSync('templates', join(folder, 'templates'), { recursive: true })
  await buildPackage(join(folder, 'dist'))
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}
