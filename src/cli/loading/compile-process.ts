/**
 * Runs esbuild for compile.ts in a separate process, so that an operator which runs for months does not keep the compiler's memory. Receives one
 * message, answers with one, and exits.
 */
import { type BuildFailure, build } from 'esbuild'
import { type BundleRequest, bundleOptions } from './esbuild-options.ts'

/** Empty if the build has succeeded. */
export type CompileResult = { readonly errors?: BuildFailure['errors']; readonly message?: string }

async function runBuild(request: BundleRequest): Promise<CompileResult> {
  try {
    await build(bundleOptions(request))
    return {}
  } catch (error) {
    const { errors, message } = error as BuildFailure
    return { errors, message }
  }
}

process.once('message', async (request: BundleRequest) => {
  process.send!(await runBuild(request), () => process.disconnect())
})
