/**
 * Builds what is published: our code in a few files, the libraries it needs beside it, the types of what can be imported, and a
 * bill of materials.
 * Run by `npm run build`, and by the tests, which start the very thing that users get.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeDeclarations } from './declarations.ts'
import { writeJavaScript } from './javascript.ts'
import { collectLicences } from './licences.ts'
import { writeSbom } from './sbom.ts'

/** Replaces the folder. To be run where package.json is. */
export async function buildPackage(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const [bundled] = await Promise.all([writeJavaScript(folder), writeDeclarations(folder)])
  await writeFile(join(folder, 'THIRD-PARTY-LICENSES'), await collectLicences(bundled))
  await writeFile(join(folder, 'sbom.cdx.json'), await writeSbom(bundled))
}
