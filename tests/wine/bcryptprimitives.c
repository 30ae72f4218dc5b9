/* Random numbers for programs under Wine 8, which has no such library; Wine 9 and Windows have. */
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size)
{
    return RtlGenRandom(data, (ULONG)size);
}
