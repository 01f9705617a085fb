import type { Route } from '$router';

export const routes: Route[] = [
  { path: '/sign-in', title: 'Sign in', who: 'anyone', load: () => import('./SignIn.svelte') },
  { path: '/sign-up', title: 'Sign up', who: 'anyone', load: () => import('./SignUp.svelte') },
  { path: '/forgot-password', title: 'Reset password', who: 'anyone', load: () => import('./ForgotPassword.svelte') },
  { path: '/reset-password', title: 'Set a new password', who: 'anyone', load: () => import('./ResetPassword.svelte') },
  { path: '/magic-link', title: 'Sign in by mail', who: 'anyone', load: () => import('./MagicLink.svelte') },
  { path: '/verify-email', title: 'Verify email address', who: 'anyone', load: () => import('./VerifyEmail.svelte') },
  { path: '/impersonate', title: 'View as customer', who: 'anyone', load: () => import('./Impersonate.svelte') },
];
