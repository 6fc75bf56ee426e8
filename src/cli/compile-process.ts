/**
 * The part of compile.ts that needs esbuild, as a process of its own: the compiler's memory goes with it, and is not
 * carried along by an operator that runs for months. Told what to do by one message, answers with another, and ends.
 */
import { type BuildFailure, build } from 'esbuild'
import { type BundleRequest, bundleOptions } from './bundling.ts'

/** Nothing where all went well. */
export type CompileAnswer = { readonly errors?: BuildFailure['errors']; readonly message?: string }

async function answer(request: BundleRequest): Promise<CompileAnswer> {
  try {
    await build(bundleOptions(request))
    return {}
  } catch (error) {
    const { errors, message } = error as BuildFailure
    return { errors, message }
  }
}

process.once('message', async (request: BundleRequest) => {
  process.send!(await answer(request), () => process.disconnect())
})
