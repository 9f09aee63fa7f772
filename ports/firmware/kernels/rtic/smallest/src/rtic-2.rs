program! { a b }
