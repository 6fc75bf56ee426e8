/**
 * Builds the published package: our code in a few files, the bundled libraries, the page of the dashboard, the type declarations and a bill of materials.
 * Called by `npm run build`, and by tests that run the package as users get it.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeDashboard } from './dashboard.ts'
import { writeDeclarations } from './declarations.ts'
import { writeJavaScript } from './javascript.ts'
import { collectLicences } from './licences.ts'
import { writeSbom } from './sbom.ts'

/** Replaces the folder. The working directory must be the one of package.json. */
export async function buildPackage(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const [libraries, page] = await Promise.all([
    writeJavaScript(folder),
    writeDashboard(folder),
    writeDeclarations(folder),
  ])
  const bundled = [...libraries, ...page]
  await writeFile(
    join(folder, 'THIRD-PARTY-LICENSES'),
    await collectLicences(bundled.flatMap(({ sources }) => sources)),
  )
  await writeFile(join(folder, 'sbom.cdx.json'), await writeSbom(bundled))
}
